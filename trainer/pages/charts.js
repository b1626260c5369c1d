"use strict";
// Pointing at a chart shows the values of all its curves at the nearest step.
for (const chart of document.querySelectorAll(".chart")) {
  const svg = chart.querySelector("svg");
  const cursor = chart.querySelector(".cursor");
  const shownStep = chart.querySelector("figcaption output");
  const shownValues = chart.querySelectorAll(".legend output");
  const curves = [...chart.querySelectorAll("polyline")].map((line) => ({
    points: JSON.parse(line.dataset.points),
    pixels: [...line.points].map((point) => point.x),
  }));

  const nearest = (pixels, x) =>
    pixels.reduce((best, each, index) =>
      Math.abs(each - x) < Math.abs(pixels[best] - x) ? index : best, 0);

  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    const found = curves.map((curve) => nearest(curve.pixels, x));
    const closest = curves.reduce((best, curve, index) =>
      Math.abs(curve.pixels[found[index]] - x) <
      Math.abs(curves[best].pixels[found[best]] - x) ? index : best, 0);
    const at = curves[closest].pixels[found[closest]];
    cursor.setAttribute("x1", at);
    cursor.setAttribute("x2", at);
    cursor.style.visibility = "visible";
    shownStep.value = `at step ${curves[closest].points[found[closest]][0]}`;
    curves.forEach((curve, index) => {
      shownValues[index].value = curve.points[found[index]][1].toPrecision(4);
    });
  });
  svg.addEventListener("pointerleave", () => {
    cursor.style.visibility = "hidden";
    shownStep.value = "";
    shownValues.forEach((output) => { output.value = ""; });
  });
}
