const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// ---- numbers: the same rules as report/units.py
const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const count = (v) => (v < 0 ? "−" : "") + grouped(Math.round(Math.abs(v)));
const significant = (v) => {
  if (v === 0) return "0";
  if (v < 0.0005) return "<0.001";
  if (v < 0.0995) return v.toFixed(3);
  if (v < 9.995) return v.toFixed(2);
  if (v < 99.95) return v.toFixed(1);
  return count(v);
};
const scaled = (v, unit) => {
  let step = 0;
  while (v >= 999.5 && step < PREFIXES.length - 1) { v /= 1000; step += 1; }
  return `${significant(v)} ${PREFIXES[step]}${unit}`;
};
const size = (v) => (v === null || Number.isNaN(v) ? "–" : v < 999.5 ? `${Math.round(v)} B` : scaled(v, "B"));
const DAY = 86400;
const rate = (v) => {
  if (v === 0) return "0 B/s";
  if (v >= 999.5) return scaled(v, "B/s");
  return v * DAY < 1 ? "<1 B/day" : `${size(v * DAY)}/day`;
};
const inTwo = (value, factor, large, small) => {
  const whole = Math.floor(value / factor), rest = value % factor;
  return rest ? `${grouped(whole)} ${large} ${rest} ${small}` : `${grouped(whole)} ${large}`;
};
const duration = (seconds) => {
  if (seconds > 0 && seconds < 0.005) return "<0.01 s";
  const whole = Math.round(seconds);
  if (seconds < 9.95 && seconds !== whole) return `${seconds.toFixed(seconds < 0.995 ? 2 : 1)} s`;
  if (whole < 60) return `${whole} s`;
  if (whole < 600) return inTwo(whole, 60, "min", "s");
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return inTwo(minutes, 60, "h", "min");
  return inTwo(Math.round(minutes / 60), 24, "d", "h");
};
// one unit for a whole chart, as units.common and units.common_rate choose it
const common = (highest, unit) => {
  if (unit === "count") return { short: count, name: "", factor: 1 };
  const perDay = unit === "rate" && highest > 0 && highest < 999.5;
  let step = 0;
  if (perDay) highest *= DAY;
  while (highest >= 999.5 && step < PREFIXES.length - 1) { highest /= 1000; step += 1; }
  const factor = (perDay ? DAY : 1) / 1000 ** step;
  return { short: (v) => significant(v * factor), factor, name: PREFIXES[step] + (unit === "bytes" ? "B" : perDay ? "B/day" : "B/s") };
};
const FORMAT = { count, bytes: size, rate };
const tenth = (v) => v.toFixed(1).replace(/\.0$/, "");
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const change = (before, after) => (before === after ? after : `${before} → ${after}`);
const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const range = (values, format) => {
  if (!values.length) return "–";
  const low = format(least(values)), high = format(most(values));
  return low === high ? low : `${low}–${high}`;
};
window.partage = { count, size, rate, duration };

// ---- elements: text is only set as textContent
const element = (tag, text, cls) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
};

// ---- packed columns: a type, then Base64 of zlib-compressed bytes (page/packed.py)
const TYPES = {
  u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, u4: Uint32Array, i4: Int32Array,
  f4: Float32Array, f8: Float64Array,
};
if (!window.DecompressionStream) {
  byId("old-browser").hidden = false;
  return;
}
const unpack = async (text) => {
  const at = text.indexOf(":");
  const bytes = Uint8Array.from(atob(text.slice(at + 1)), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new TYPES[text.slice(0, at)](await new Response(stream).arrayBuffer());
};
