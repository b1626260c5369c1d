"use strict";
// Pointing at a chart shows the values of all its curves at the nearest step, or whatever is across.
for (const chart of document.querySelectorAll(".chart")) {
  const svg = chart.querySelector("svg");
  const cursor = chart.querySelector(".cursor");
  const shownStep = chart.querySelector("figcaption output");
  const shownValues = chart.querySelectorAll(".legend output");
  const curves = [...chart.querySelectorAll("polyline")].map((line) => ({
    points: JSON.parse(line.dataset.points),
    pixels: [...line.points].map((point) => point.x),
  }));
  const format = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });

  const nearestIndex = (pixels, x) =>
    pixels.reduce((nearest, pixel, index) =>
      Math.abs(pixel - x) < Math.abs(pixels[nearest] - x) ? index : nearest, 0);

  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const indices = curves.map((curve) => nearestIndex(curve.pixels, x));
    const pixels = curves.map((curve, number) => curve.pixels[indices[number]]);
    const closest = nearestIndex(pixels, x);
    cursor.setAttribute("x1", pixels[closest]);
    cursor.setAttribute("x2", pixels[closest]);
    cursor.style.visibility = "visible";
    const step = curves[closest].points[indices[closest]][0];
    shownStep.value = `at ${chart.dataset.across} ${step.toLocaleString("en")}`;
    curves.forEach((curve, number) => {
      shownValues[number].value = format(curve.points[indices[number]][1]);
    });
  });
  svg.addEventListener("pointerleave", () => {
    cursor.style.visibility = "hidden";
    shownStep.value = "";
    shownValues.forEach((output) => { output.value = ""; });
  });
}
