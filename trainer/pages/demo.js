"use strict";
// The page to try a model on: sends the form by keyboard, and says that the model is at work.
const form = document.querySelector("form");
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
form.addEventListener("submit", () => {
  form.querySelector("button").textContent = "Translating …";
});
addEventListener("pageshow", () => { // also when the browser goes back
  form.querySelector("button").textContent = "Translate";
});
