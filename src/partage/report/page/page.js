"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const ids = data.brokers.id;
  document.querySelectorAll(".needs-script").forEach((element) => { element.hidden = false; });

  // ---- numbers: the same rules as units.py
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
  const size = (v) => (v === null ? "–" : v < 999.5 ? `${Math.round(v)} B` : scaled(v, "B"));
  const rate = (v) => {
    if (v === 0) return "0 B/s";
    if (v < 0.001) return "<0.001 B/s";
    return v < 0.0995 ? `${v.toFixed(3)} B/s` : scaled(v, "B/s");
  };
  // one unit for a whole chart, as units.common gives a column
  const common = (highest, unit) => {
    if (unit === "count") return { short: count, name: "" };
    let step = 0;
    while (highest >= 999.5 && step < PREFIXES.length - 1) { highest /= 1000; step += 1; }
    return { short: (v) => significant(v / 1000 ** step), name: PREFIXES[step] + (unit === "bytes" ? "B" : "B/s") };
  };
  const FORMAT = { count, bytes: size, rate };
  const tenth = (v) => v.toFixed(1).replace(/\.0$/, "");
  const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
  window.partage = { count, size, rate };

  // ---- theme
  const themes = ["system", "light", "dark"];
  const themeButton = byId("theme");
  const store = {
    get() { try { return localStorage.getItem("partage-theme"); } catch { return null; } },
    set(value) { try { localStorage.setItem("partage-theme", value); } catch { /* a page from a disk may have none */ } },
  };
  const setTheme = (theme) => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    themeButton.textContent = `Theme: ${theme}`;
  };
  let theme = themes.includes(store.get()) ? store.get() : "system";
  setTheme(theme);
  themeButton.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    store.set(theme);
    setTheme(theme);
  });

  // ---- columns: one chart for everything that is a number per broker
  const SVG = "http://www.w3.org/2000/svg";
  const node = (name, attributes, parent) => {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (parent) parent.append(element);
    return element;
  };
  const niceTop = (highest) => {
    if (!(highest > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(highest));
    return [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((m) => m * power).find((v) => v >= highest);
  };
  const HEIGHT = 190, LEFT = 44, RIGHT = 6, TOP = 18, BOTTOM = 20;

  // spec: positions (brokers shown), wide and bars (drawn behind and in front), stack (on top of
  // bars), line (per slot), short (text of a number), describe(slot), overview, label, pick(slot), picked
  function columns(figure, spec) {
    const plot = figure.querySelector(".plot"), readout = figure.querySelector("output");
    const width = Math.max(240, Math.round(plot.clientWidth));
    const n = spec.positions.length;
    const svg = node("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": spec.label });
    const tops = spec.bars.map((v, i) => v + (spec.stack ? spec.stack[i] : 0));
    const top = niceTop(Math.max(0, ...tops, ...(spec.wide || [0]), ...(spec.line || [0])));
    const y = (v) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - v / top);
    const base = y(0), slot = (width - LEFT - RIGHT) / Math.max(n, 1);
    for (const v of [0, top / 2, top]) {
      node("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(v), y2: y(v) }, svg);
      const whole = spec.short !== count || v === Math.round(v);
      if (whole) node("text", { x: LEFT - 7, y: y(v) + 4, "text-anchor": "end" }, svg).textContent = spec.short(v);
    }
    const longest = Math.max(...spec.positions.map((p) => String(ids[p]).length), 1);
    const every = Math.ceil((longest * 6.5 + 6) / slot);
    const inset = spec.wide ? 0.2 : 0.12, thick = slot * (1 - 2 * inset);
    const widest = 6.8 * Math.max(...tops.map((v) => spec.short(v).length), 1) + 2;
    const numbers = [];  // drawn last, in front of the line
    const bar = (cls, x, w, from, to) => {
      if (to > from) node("rect", { class: cls, x, width: Math.max(w, 0.6), y: y(to), height: Math.max(y(from) - y(to), 0.8), rx: w > 6 ? 1.5 : 0 }, svg);
    };
    const slots = [];
    for (let i = 0; i < n; i += 1) {
      const x = LEFT + i * slot;
      slots.push(node("rect", { class: "slot", x, width: slot, y: TOP, height: base - TOP }, svg));
      if (spec.wide) bar("before", x + slot * 0.06, slot * 0.88, 0, spec.wide[i]);
      bar("after", x + slot * inset, thick, 0, spec.bars[i]);
      if (spec.stack) bar("taken", x + slot * inset, thick, spec.bars[i], tops[i]);
      if (tops[i] > 0 && (spec.stack ? slot : thick) >= widest) {
        const inside = !spec.stack && base - y(tops[i]) >= 20;
        const text = node("text", { class: inside ? "value inside" : "value", x: x + slot / 2, y: y(tops[i]) + (inside ? 14 : -4), "text-anchor": "middle" });
        text.textContent = spec.short(tops[i]);
        numbers.push(text);
      }
      if (i % every === 0) {
        const mark = data.brokers.mark[spec.positions[i]];
        node("text", { class: mark, x: x + slot / 2, y: HEIGHT - 5, "text-anchor": "middle" }, svg).textContent = ids[spec.positions[i]];
      }
    }
    if (spec.line) {
      let path = "";
      spec.line.forEach((v, i) => {
        if (!(v > 0)) return;
        const x = LEFT + i * slot;
        path += `${path && spec.line[i - 1] === v ? "L" : "M"}${x.toFixed(1)} ${y(v).toFixed(1)}L${(x + slot).toFixed(1)} ${y(v).toFixed(1)}`;
      });
      node("path", { class: "fair", d: path }, svg);
    }
    svg.append(...numbers);
    // one transparent surface above everything takes the pointer
    const surface = node("rect", { class: spec.pick ? "slot pick" : "slot", x: LEFT, y: 0, width: slot * n, height: HEIGHT }, svg);
    let on = -1;
    const hover = (i) => {
      if (i === on) return;
      if (on >= 0) slots[on].classList.remove("on");
      on = i;
      if (on >= 0) slots[on].classList.add("on");
      readout.textContent = on >= 0 ? spec.describe(on) : spec.overview;
    };
    const at = (event) => {
      const box = svg.getBoundingClientRect();
      const i = Math.floor(((event.clientX - box.left) * (width / box.width) - LEFT) / slot);
      return i >= 0 && i < n ? i : -1;
    };
    surface.addEventListener("pointermove", (event) => hover(at(event)));
    surface.addEventListener("pointerdown", (event) => hover(at(event)));
    surface.addEventListener("pointerleave", () => hover(-1));
    if (spec.pick) surface.addEventListener("click", (event) => { const i = at(event); if (i >= 0) spec.pick(i); });
    if (spec.picked >= 0) slots[spec.picked].classList.add("picked");
    readout.textContent = spec.overview;
    plot.replaceChildren(svg);
  }

  const range = (values, format) => {
    if (!values.length) return "–";
    const low = Math.min(...values), high = Math.max(...values);
    return low === high ? format(low) : `${format(low)}–${format(high)}`;
  };
  const change = (before, after) => (before === after ? after : `${before} → ${after}`);
  const named = (position) => {
    const mark = data.brokers.mark[position];
    return `broker ${ids[position]}${mark ? ` (${mark})` : ""}`;
  };

  const everyone = ids.map((_, i) => i);
  const usable = everyone.filter((i) => data.failure.there[i]);
  function drawLoads() {
    for (const load of data.loads) {
      const format = FORMAT[load.unit];
      const fair = load.unit === "count" ? tenth : format;
      const { short, name } = common(Math.max(...load.before, ...load.after), load.unit);
      const overview = `${change(range(load.before, short), range(usable.map((i) => load.after[i]), short))} ${name}`.trim();
      const figure = document.querySelector(`[data-load="${load.key}"]`);
      figure.querySelector("small").textContent = name;
      columns(figure, {
        positions: everyone, wide: load.before, bars: load.after, line: load.fair, short, overview,
        label: `${load.title} per broker: ${overview.replace("→", "before,")}${overview.includes("→") ? " after" : ""}`,
        describe: (i) => `${named(i)}: ${change(format(load.before[i]), format(load.after[i]))}` + (load.fair[i] ? `, fair ${fair(load.fair[i])}` : ""),
      });
    }
  }

  // ---- failures
  const failure = data.failure;
  let failed = usable.reduce((worst, i) => (failure.after[i] > failure.after[worst] ? i : worst), usable[0]);
  const failedText = byId("failed-text");
  function drawFailures() {
    if (failed === undefined) return;
    const ideal = usable.map(() => failure.ideal || 0);
    const before = usable.map((i) => Math.max(0, failure.before[i])), after = usable.map((i) => failure.after[i]);
    columns(byId("worst"), {
      positions: usable, wide: before, bars: after, line: ideal, short: count, picked: usable.indexOf(failed),
      overview: `worst ${change(count(Math.max(...before)), count(Math.max(...after)))}`,
      label: `Most leaders on one survivor for each failed broker, at most ${count(Math.max(...after))}`,
      describe: (i) => `${named(usable[i])} fails: ${change(failure.before[usable[i]] < 0 ? "–" : count(before[i]), count(after[i]))}`,
      pick: (i) => choose(usable[i], true),
    });
    const survivors = usable.filter((i) => i !== failed);
    const taken = new Map(), pairs = failure.pairs[failed];
    for (let i = 0; i < pairs.length; i += 2) taken.set(pairs[i], pairs[i + 1]);
    const own = survivors.map((i) => failure.leaders[i]), extra = survivors.map((i) => taken.get(i) || 0);
    const total = own.map((v, i) => v + extra[i]);
    columns(byId("survivors"), {
      positions: survivors, bars: own, stack: extra, line: survivors.map(() => failure.ideal || 0), short: count,
      overview: range(total, count),
      label: `Leaders of each survivor when broker ${ids[failed]} fails`,
      describe: (i) => `${named(survivors[i])}: ${count(own[i])} + ${count(extra[i])} = ${count(total[i])}`,
    });
    const heirs = [...taken.entries()].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const told = heirs.slice(0, 12).map(([i, n]) => `${ids[i]} takes ${count(n)}`).join(", ");
    const more = heirs.length > 12 ? `, and ${count(heirs.length - 12)} more brokers share the rest` : "";
    const lost = failure.lost[failed];
    failedText.textContent = failure.leaders[failed] === 0
      ? `Broker ${ids[failed]} leads nothing: nobody has to take over.`
      : `Broker ${ids[failed]} fails: ${plural(failure.leaders[failed], "leader")} to hand over; ${told || "nobody can"}${more}. `
        + `The most that one survivor then leads is ${count(failure.after[failed])}.`
        + (lost ? ` ${plural(lost, "partition")} had no other live replica.` : "");
  }
  function choose(position, focus) {
    failed = position;
    const radio = document.querySelector(`input[name="failed"][value="${position}"]`);
    radio.checked = true;
    if (focus) radio.focus({ preventScroll: true });
    const chips = byId("failed"), top = radio.parentElement.offsetTop;
    if (top < chips.scrollTop || top + 30 > chips.scrollTop + chips.clientHeight) chips.scrollTop = top - 40;
    drawFailures();
  }
  byId("failed").addEventListener("change", (event) => choose(Number(event.target.value), false));

  // ---- heat map
  const level = (n, fair) => (n === 0 ? 0 : Math.min(8, Math.max(1, Math.floor((4 * n) / Math.max(fair, 1) + 0.5))));
  const cells = (table) => Array.from(table.tBodies[0].rows, (row) => Array.from(row.cells).slice(1));
  const heatCells = cells(byId("heat"));
  function showHeat(what) {
    const { before, after, fair } = data.heat;
    heatCells.forEach((row, t) => row.forEach((cell, b) => {
      const old = before[t][b], now = after[t][b], change = now - old;
      if (what === "change") {
        const step = Math.min(3, Math.ceil((3 * Math.abs(change)) / Math.max(fair[t], 1)));
        cell.textContent = change > 0 ? `+${change}` : change < 0 ? `−${-change}` : "·";
        cell.className = change ? (change > 0 ? "p" : "m") + step : "h0";
      } else {
        const n = what === "before" ? old : now;
        cell.textContent = n;
        cell.className = `h${level(n, fair[t])}`;
      }
    }));
    byId("heat-state").textContent = { before: "before the plan", after: "after the plan", change: "what the plan changes" }[what];
    byId("heat-scale").hidden = what === "change";
    byId("change-scale").hidden = what !== "change";
  }
  document.querySelector('[data-choice="heat"]').addEventListener("change", (event) => showHeat(event.target.value));

  // ---- movement
  const movementChoice = document.querySelector('[data-choice="movement"]');
  if (movementChoice) {
    const movementCells = cells(byId("movement-table"));
    movementChoice.addEventListener("change", (event) => {
      const what = event.target.value, table = data.movement[what];
      const highest = Math.max(...table.map((row) => Math.max(...row)));
      movementCells.forEach((row, i) => row.forEach((cell, j) => {
        const none = !data.movement.replicas[i][j];
        const blind = what === "bytes" && data.movement.unknown && !table[i][j];
        cell.textContent = none ? "·" : blind ? "–" : FORMAT[what === "bytes" ? "bytes" : "count"](table[i][j]);
        cell.className = `h${none || !highest ? 0 : Math.ceil((6 * table[i][j]) / highest)}`;
      }));
    });
  }

  // ---- what changes
  const changes = data.changes, total = changes.topic.length;
  if (total) {
    const moved = changes.after.map((list, i) => list.filter((b) => !changes.before[i].includes(b)).length);
    const copied = moved.map((n, i) => (n && changes.size[i] === null ? null : n * (changes.size[i] || 0)));
    const name = (i) => `${changes.topics[changes.topic[i]]}-${changes.partition[i]}`;
    let found = [], page = 0;
    const element = (tag, text, cls) => {
      const e = document.createElement(tag);
      if (text !== undefined) e.textContent = text;
      if (cls) e.className = cls;
      return e;
    };
    const replicaList = (list, other, tag) => {
      const cell = element("td", undefined, "list");
      list.forEach((broker, i) => {
        const span = element("span", undefined, i === 0 ? "lead-replica" : "");
        span.append(other.includes(broker) ? String(broker) : element(tag, broker));
        cell.append(span);
      });
      return cell;
    };
    const show = () => {
      const start = page * changes.per_page, rows = found.slice(start, start + changes.per_page);
      byId("rows").replaceChildren(...rows.map((i) => {
        const row = element("tr"), head = element("th", name(i));
        head.scope = "row";
        row.append(head, replicaList(changes.before[i], changes.after[i], "del"), replicaList(changes.after[i], changes.before[i], "ins"),
          element("td", moved[i]), moved[i] ? element("td", size(copied[i])) : element("td", "order only", "old"));
        return row;
      }));
      byId("shown").textContent = found.length
        ? `${count(start + 1)}–${count(start + rows.length)} of ${plural(found.length, "partition")}`
        : "no partition matches";
      byId("previous").disabled = page === 0;
      byId("next").disabled = start + rows.length >= found.length;
    };
    const search = () => {
      const words = byId("search").value.trim().toLowerCase(), kind = byId("kind").value;
      const touches = byId("touches").value === "" ? null : Number(byId("touches").value);
      found = [];
      for (let i = 0; i < total; i += 1) {
        if (kind !== "all" && (kind === "moves") !== moved[i] > 0) continue;
        if (touches !== null && !changes.before[i].includes(touches) && !changes.after[i].includes(touches)) continue;
        if (words && !name(i).toLowerCase().includes(words)) continue;
        found.push(i);
      }
      if (byId("order").value === "copy") found.sort((a, b) => copied[b] - copied[a] || a - b);
      page = 0;
      show();
    };
    byId("search").addEventListener("input", search);
    for (const id of ["kind", "touches", "order"]) byId(id).addEventListener("change", search);
    byId("previous").addEventListener("click", () => { page -= 1; show(); });
    byId("next").addEventListener("click", () => { page += 1; show(); });
    search();
  }

  // ---- draw now, and again where the width changes
  const draw = () => { drawLoads(); drawFailures(); };
  let width = document.documentElement.clientWidth;
  drawLoads();
  if (failed !== undefined) choose(failed, false);
  window.addEventListener("resize", () => {
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    draw();
  });
  window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
})();
