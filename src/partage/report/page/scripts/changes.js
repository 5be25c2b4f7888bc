// ---- changes: search, filters, pages; a name opens its explanation
const changes = data.changes;
if (changes.total) {
  const topic = await unpack(changes.topic), partition = await unpack(changes.partition), bytes = await unpack(changes.size);
  const deleted = changes.deleted && await unpack(changes.deleted);
  const lists = { before: await unpack(changes.before), after: await unpack(changes.after) };
  const total = topic.length, width = changes.width;
  const list = (when, i) => Array.from(lists[when].subarray(i * width, (i + 1) * width)).filter((b) => b >= 0);
  const has = (when, i, broker) => {
    for (let at = i * width; at < (i + 1) * width; at += 1) if (lists[when][at] === broker) return true;
    return false;
  };
  const moved = new Uint16Array(total), firstNew = new Uint32Array(total), copied = new Float64Array(total);
  for (let i = 0, added = 0; i < total; i += 1) {
    for (let at = i * width; at < (i + 1) * width; at += 1) {
      if (lists.after[at] >= 0 && !has("before", i, lists.after[at])) moved[i] += 1;
    }
    firstNew[i] = added;
    added += moved[i];
    copied[i] = moved[i] * bytes[i];
  }
  const name = (i) => `${data.topics[topic[i]]}-${partition[i]}`;
  const names = Array.from(topic, (_, i) => name(i).toLowerCase());
  let found = [], page = 0, heaviest = null, perPage = changes.per_page;
  const byCopy = () => {
    const weight = copied.map((n) => (Number.isNaN(n) ? 0 : n));
    heaviest = heaviest || Uint32Array.from(names.keys()).sort((a, b) => weight[b] - weight[a] || a - b);
    return heaviest;
  };

  const replicaList = (brokers, other, tag) => {
    const cell = element("td", undefined, "list");
    brokers.forEach((broker, i) => {
      const span = element("span", undefined, i === 0 ? "lead-replica" : "");
      span.append(other.includes(broker) ? String(ids[broker]) : element(tag, ids[broker]));
      cell.append(span);
    });
    return cell;
  };
  const explanationRow = (i) => {
    const { leader, replicas } = explanationOf(list("before", i), list("after", i), firstNew[i]);
    const row = element("tr", undefined, "why"), cell = element("td"), reasons = element("ul");
    cell.colSpan = deleted ? 6 : 5;
    cell.append(element("p", leader));
    for (const { broker, fate, why, instead: other } of replicas) {
      const item = element("li", undefined, fate), rack = data.rack_labels[rackOf[broker]];
      item.append(element("b", ids[broker]), rack === undefined ? " " : ` ${rack}, `, element("em", fate), `: ${why}`);
      if (other) item.append(element("small", `instead, at least: ${other}`));
      reasons.append(item);
    }
    cell.append(reasons);
    row.append(cell);
    return row;
  };
  const opened = new Set();
  const opener = (i, row) => {
    const button = element("button", name(i), "open");
    button.type = "button";
    button.ariaExpanded = String(opened.has(i));
    button.addEventListener("click", () => {
      if (opened.delete(i)) row.nextSibling.remove();
      else {
        opened.add(i);
        row.after(explanationRow(i));
      }
      button.ariaExpanded = String(opened.has(i));
    });
    return button;
  };
  const show = () => {
    const start = page * perPage, rows = found.slice(start, start + perPage);
    byId("rows").replaceChildren(...rows.flatMap((i) => {
      const row = element("tr"), head = element("th"), before = list("before", i), after = list("after", i);
      head.scope = "row";
      head.append(opener(i, row));
      row.append(head, replicaList(before, after, "del"), replicaList(after, before, "ins"), element("td", moved[i]));
      if (deleted) row.append(element("td", deleted[i]));
      row.append(moved[i] ? element("td", size(copied[i])) : element("td", deleted && deleted[i] ? "nothing" : "order only", "old"));
      return opened.has(i) ? [row, explanationRow(i)] : [row];
    }));
    byId("shown").textContent = found.length
      ? `${count(start + 1)}–${count(start + rows.length)} of ${plural(found.length, "partition")}`
      : "no partition matches";
    byId("previous").disabled = page === 0;
    byId("next").disabled = start + rows.length >= found.length;
  };
  const isOfKind = {
    all: () => true,
    moves: (i) => moved[i] > 0,
    deletes: (i) => deleted[i] > 0,
    order: (i) => !moved[i] && !(deleted && deleted[i]),
  };
  const search = () => {
    const words = byId("search").value.trim().toLowerCase(), ofKind = isOfKind[byId("kind").value];
    const touches = byId("touches").value === "" ? -1 : Number(byId("touches").value);
    found = [];
    for (const i of byId("order").value === "copy" ? byCopy() : names.keys()) {
      if (!ofKind(i)) continue;
      if (touches >= 0 && !has("before", i, touches) && !has("after", i, touches)) continue;
      if (words && !names[i].includes(words)) continue;
      found.push(i);
    }
    page = 0;
    show();
  };
  byId("search").addEventListener("input", search);
  for (const id of ["kind", "touches", "order"]) byId(id).addEventListener("change", search);
  byId("previous").addEventListener("click", () => { page -= 1; show(); });
  byId("next").addEventListener("click", () => { page += 1; show(); });
  // paper has no Next button
  const print = (rows) => () => { perPage = rows; page = 0; show(); };
  window.addEventListener("beforeprint", print(Math.max(changes.per_page, 500)));
  window.addEventListener("afterprint", print(changes.per_page));
  search();
}
