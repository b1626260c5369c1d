"use strict";
// Explores attention: an overview of all layers and heads, and one head large.
const SVG = "http://www.w3.org/2000/svg";

const element = (name, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
};

const drawing = (name, attributes, text) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
};

const percent = (level) => `${(level / 2.55).toFixed(level < 26 ? 1 : 0)} %`;

class Viewer {
  constructor(figure) {
    this.kinds = JSON.parse(figure.querySelector("script").textContent).map((kind) => ({
      ...kind,
      weights: Uint8Array.from(atob(kind.weights), (byte) => byte.charCodeAt(0)),
    }));
    this.tabs = this.kinds.map((kind) =>
      element("button", { type: "button", onclick: () => this.showKind(kind) }, kind.name));
    this.overview = element("div", { className: "overview" });
    this.overview.addEventListener("pointerleave", () => this.showHead(...this.kept));
    this.detail = element("div", { className: "detail" });
    figure.append(
      element("div", { className: "tabs" }, ...this.tabs),
      element("div", { className: "panes" }, this.overview, this.detail),
    );
    this.showKind(this.kinds[0]);
    matchMedia("(prefers-color-scheme: dark)")
      .addEventListener("change", () => this.showKind(this.kind));
    addEventListener("resize", () => this.showHead(...this.kept)); // cells fit the width
  }

  // Weights of one head, row by row: bytes, 255 for 1.
  head(layer, head) {
    const size = this.kind.queries.length * this.kind.keys.length;
    const start = (layer * this.kind.heads + head) * size;
    return this.kind.weights.subarray(start, start + size);
  }

  showKind(kind) {
    this.kind = kind;
    this.kept = [kind.layers - 1, 0]; // the last layer is the most telling
    this.tabs.forEach((tab, index) =>
      tab.setAttribute("aria-pressed", this.kinds[index] === kind));
    this.overview.style.gridTemplateColumns = `repeat(${kind.heads + 1}, auto)`;
    this.overview.style.setProperty("--heads", kind.heads);
    const numbers = (count) => [...Array(count).keys()];
    this.overview.replaceChildren(
      element("span", {}, "head"),
      ...numbers(kind.heads).map((head) => element("span", {}, head + 1)),
      ...numbers(kind.layers).flatMap((layer) => [
        element("span", {}, `layer ${layer + 1}`),
        ...numbers(kind.heads).map((head) => this.thumbnail(layer, head)),
      ]),
    );
    this.showHead(...this.kept);
  }

  thumbnail(layer, head) {
    const { queries, keys } = this.kind;
    const canvas = element("canvas", { width: keys.length, height: queries.length });
    const context = canvas.getContext("2d");
    const pixels = context.createImageData(keys.length, queries.length);
    const ink = getComputedStyle(this.overview).getPropertyValue("--ink").split(",").map(Number);
    this.head(layer, head).forEach((level, index) =>
      pixels.data.set([...ink, level], 4 * index));
    context.putImageData(pixels, 0, 0);
    const button = element("button", {
      type: "button",
      ariaLabel: `layer ${layer + 1}, head ${head + 1}`,
      onclick: () => { this.kept = [layer, head]; this.showHead(layer, head); },
      onfocus: () => this.showHead(layer, head),
      onpointerenter: () => this.showHead(layer, head),
    }, canvas);
    button.dataset.head = `${layer} ${head}`;
    return button;
  }

  showHead(layer, head) {
    for (const button of this.overview.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", button.dataset.head === `${layer} ${head}`);
    }
    this.shown = this.head(layer, head);
    this.title = `${this.kind.name}, layer ${layer + 1}, head ${head + 1}`;
    this.said = element("output", {}, this.title);
    this.queries = this.kind.queries.map((token, row) =>
      element("span", { onpointerenter: () => this.showQuery(row) }, token));
    this.keys = this.kind.keys.map((token) => element("span", {}, token));
    this.detail.replaceChildren(this.said, this.matrix(), element("div", { className: "tokens" },
      element("div", { className: "queries" }, element("b", {}, this.kind.doing), ...this.queries),
      element("div", {}, element("b", {}, "it looks at"), ...this.keys)));
    this.showQuery(Math.min(this.query ?? 0, this.queries.length - 1), undefined);
    this.said.value = this.title;
  }

  matrix() {
    const { queries, keys } = this.kind;
    const title = 20;
    const longest = (tokens) => 10 + 7 * Math.max(...tokens.map((token) => token.length));
    const left = title + longest(queries), top = title + longest(keys);
    const room = Math.min(600, this.detail.clientWidth - left - 4);
    const cell = Math.max(12, Math.min(30, room / keys.length, 600 / queries.length));
    const width = cell * keys.length, height = cell * queries.length;
    // Wide enough for the titles of the axes.
    const full = [Math.max(left + width, left + 6.5 * this.kind.key_axis.length) + 2,
      Math.max(top + height, top + 6.5 * this.kind.query_axis.length) + 2];
    const svg = drawing("svg", { width: full[0], height: full[1], role: "img" });
    svg.append(
      drawing("rect", { class: "frame", x: left, y: top, width, height }),
      drawing("text", { class: "axis", x: left, y: 12 }, `${this.kind.key_axis} →`),
      drawing("text", {
        class: "axis", "text-anchor": "end", transform: `translate(12 ${top}) rotate(-90)`,
      }, `← ${this.kind.query_axis}`),
    );
    keys.forEach((token, column) => svg.append(drawing("text", {
      transform: `translate(${left + cell * (column + 0.5) + 4} ${top - 4}) rotate(-90)`,
    }, token)));
    queries.forEach((token, row) => svg.append(drawing("text", {
      x: left - 4, y: top + cell * (row + 0.5) + 4, "text-anchor": "end",
    }, token)));
    this.shown.forEach((level, index) => level && svg.append(drawing("rect", {
      x: left + cell * (index % keys.length), y: top + cell * Math.floor(index / keys.length),
      width: cell - 1, height: cell - 1, "fill-opacity": level / 255,
    })));
    this.frame = drawing("rect", {
      class: "row", x: left, width, height: cell,
    });
    svg.append(this.frame);
    this.place = (row) => this.frame.setAttribute("y", top + cell * row);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const row = Math.floor((event.clientY - box.top - top) / cell);
      const column = Math.floor((event.clientX - box.left - left) / cell);
      if (row in queries) this.showQuery(row, column in keys ? column : undefined);
    });
    return svg;
  }

  // Shades the keys by their weight for a query, and prints the weight of `key`.
  showQuery(query, key) {
    this.query = query;
    this.place(query);
    this.frame.style.visibility = "visible";
    const { queries, keys, doing } = this.kind;
    const levels = this.shown.subarray(query * keys.length, (query + 1) * keys.length);
    this.queries.forEach((span, row) => span.classList.toggle("chosen", row === query));
    this.keys.forEach((span, column) => {
      span.style.background = `rgba(var(--ink), ${levels[column] / 255})`;
      span.style.color = levels[column] > 127 ? "var(--page)" : "";
      span.title = percent(levels[column]);
    });
    const column = key ?? levels.indexOf(Math.max(...levels));
    this.said.value = `${this.title}: ${doing} “${queries[query]}”, ` +
      `it looks at “${keys[column]}” with ${percent(levels[column])}`;
  }
}

for (const figure of document.querySelectorAll(".heads")) new Viewer(figure);
