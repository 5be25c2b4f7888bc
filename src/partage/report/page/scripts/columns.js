// ---- columns: a chart of one number per broker
const SVG = "http://www.w3.org/2000/svg";
const node = (name, attributes, parent) => {
  const e = document.createElementNS(SVG, name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  if (parent) parent.append(e);
  return e;
};
const niceTop = (highest) => {
  if (!(highest > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(highest));
  return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((m) => m * power).find((v) => v >= highest);
};
const HEIGHT = 190, LEFT = 44, RIGHT = 6, TOP = 18, BOTTOM = 20, NARROWEST = 4;

// spec: positions (of the brokers shown); functions of a position: wide (drawn behind), bars, stack
// (on top of bars), line, band ([low, high], may be null); short (text of a number) and factor (from a value to the number in it); describe(position), overview, label,
// pick(position), picked. If the bars do not fit, each stands for neighbouring brokers and shows the
// highest of them; a click narrows the scope to them. Returns the number of brokers per bar.
function columns(figure, spec) {
  const plot = figure.querySelector(".plot"), readout = figure.querySelector("output");
  const width = Math.max(240, Math.round(plot.clientWidth));
  const groups = neighbours(spec.positions, Math.floor((width - LEFT - RIGHT) / NARROWEST));
  const n = groups.length;
  const height = (p) => spec.bars(p) + (spec.stack ? spec.stack(p) : 0);
  const highest = groups.map((group) => group.reduce((a, b) => (height(b) > height(a) ? b : a)));
  const of = (f) => (f ? highest.map(f) : undefined);
  const bars = of(spec.bars), stack = of(spec.stack), line = of(spec.line), tops = of(height);
  const wide = spec.wide && groups.map((group) => most(group.map(spec.wide)));
  const svg = node("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": spec.label });
  const factor = spec.factor || 1;
  const top = niceTop(factor * most([0, ...tops, ...(wide || []), ...(line || [])])) / factor;
  const y = (v) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - v / top);
  const base = y(0), slot = (width - LEFT - RIGHT) / Math.max(n, 1);
  for (const v of [0, top / 2, top]) {
    node("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(v), y2: y(v) }, svg);
    const whole = spec.short !== count || v === Math.round(v);
    if (whole) node("text", { x: LEFT - 7, y: y(v) + 4, "text-anchor": "end" }, svg).textContent = spec.short(v);
  }
  const longest = most(spec.positions.map((p) => String(ids[p]).length));
  const every = Math.ceil((longest * 6.5 + 6) / slot);
  const inset = slot < 8 ? 0.1 : wide ? 0.2 : 0.12, thick = slot * (1 - 2 * inset);
  const widest = 6.8 * most([1, ...tops.map((v) => spec.short(v).length)]) + 2;
  const numbers = [];  // drawn last, in front of the line
  const bar = (cls, x, w, from, to) => {
    if (to > from) node("rect", { class: cls, x, width: Math.max(w, 0.6), y: y(to), height: Math.max(y(from) - y(to), 0.8), rx: w > 6 ? 1.5 : 0 }, svg);
  };
  const slots = [];
  for (let i = 0; i < n; i += 1) {
    const x = LEFT + i * slot;
    slots.push(node("rect", { class: "slot", x, width: slot, y: TOP, height: base - TOP }, svg));
    if (wide) bar("before", x + slot * 0.06, slot * 0.88, 0, wide[i]);
    bar("after", x + slot * inset, thick, 0, bars[i]);
    if (stack) bar("taken", x + slot * inset, thick, bars[i], tops[i]);
    const ends = spec.band && spec.band(highest[i]);
    if (ends) bar("band", x, slot, ends[0], Math.min(ends[1], top));
    if (tops[i] > 0 && (stack ? slot : thick) >= widest) {
      const inside = !stack && base - y(tops[i]) >= 20;
      const text = node("text", { class: inside ? "value inside" : "value", x: x + slot / 2, y: y(tops[i]) + (inside ? 14 : -4), "text-anchor": "middle" });
      text.textContent = spec.short(tops[i]);
      numbers.push(text);
    }
    if (i % every === 0) {
      const statuses = new Set(groups[i].map((p) => data.brokers.status[p]));
      const status = statuses.size === 1 ? [...statuses][0] : "";
      node("text", { class: status, x: x + slot / 2, y: HEIGHT - 5, "text-anchor": "middle" }, svg).textContent = ids[groups[i][0]];
    }
  }
  if (line) {
    let path = "";
    line.forEach((v, i) => {
      if (!(v > 0)) return;
      const x = LEFT + i * slot;
      path += `${path && line[i - 1] === v ? "L" : "M"}${x.toFixed(1)} ${y(v).toFixed(1)}L${(x + slot).toFixed(1)} ${y(v).toFixed(1)}`;
    });
    node("path", { class: "fair", d: path }, svg);
  }
  svg.append(...numbers);
  // a transparent surface above everything receives the pointer events
  const surface = node("rect", { class: "slot pick", x: LEFT, y: 0, width: slot * n, height: HEIGHT }, svg);
  let on = -1;
  const description = (i) => (groups[i].length > 1 ? `brokers ${idRange(groups[i])}, highest ` : "") + spec.describe(highest[i]);
  const hover = (i) => {
    if (i === on) return;
    if (on >= 0) slots[on].classList.remove("on");
    on = i;
    if (on >= 0) slots[on].classList.add("on");
    readout.textContent = on >= 0 ? description(on) : spec.overview;
  };
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const i = Math.floor(((event.clientX - box.left) * (width / box.width) - LEFT) / slot);
    return i >= 0 && i < n ? i : -1;
  };
  surface.addEventListener("pointermove", (event) => hover(at(event)));
  surface.addEventListener("pointerdown", (event) => hover(at(event)));
  surface.addEventListener("pointerleave", () => hover(-1));
  surface.addEventListener("click", (event) => {
    const i = at(event);
    if (i < 0) return;
    if (groups[i].length === 1) spec.pick(groups[i][0]);
    else setScope(around(highest[i]) || scope);
  });
  const picked = groups.findIndex((group) => group.includes(spec.picked));
  if (picked >= 0) slots[picked].classList.add("picked");
  readout.textContent = spec.overview;
  plot.replaceChildren(svg);
  return n ? groups[0].length : 1;
}
