// ---- copies: bytes or replicas, and one broker's copies in words
const movement = data.movement;
if (movement) {
  const tables = [["movement-table", movement.brokers], ["movement-racks", movement.racks]].filter(([, table]) => table);
  const choice = document.querySelector('[data-choice="movement"]');
  if (choice) {
    choice.addEventListener("change", (event) => {
      const what = event.target.value;
      for (const [id, table] of tables) {
        const highest = most(table[what].map(most));
        Array.from(byId(id).tBodies[0].rows, (row, i) => Array.from(row.cells).slice(1).forEach((cell, j) => {
          const n = table[what][i][j], none = !table.replicas[i][j];
          const unknown = what === "bytes" && table.unknown && !n;
          cell.textContent = none ? "·" : unknown ? "–" : FORMAT[what === "bytes" ? "bytes" : "count"](n);
          cell.className = `h${none || !highest ? 0 : Math.ceil((6 * n) / highest)}`;
        }));
      }
    });
  }
  const pairs = { from: await unpack(movement.from), to: await unpack(movement.to), replicas: await unpack(movement.pair_replicas), bytes: await unpack(movement.pair_bytes) };
  const partners = (own, other, broker) => {
    const found = [];
    pairs[own].forEach((b, i) => { if (b === broker) found.push([pairs[other][i], pairs.replicas[i], pairs.bytes[i]]); });
    return found.sort((a, b) => b[2] - a[2] || b[1] - a[1] || a[0] - b[0]);
  };
  const copies = (found, verb, word) => {
    if (!found.length) return `${verb} nothing`;
    const sum = (at) => found.reduce((total, pair) => total + pair[at], 0);
    const amount = (replicas, bytes) => plural(replicas, "replica") + (bytes ? `, ${size(bytes)}` : "");
    const label = (b) => (b < ids.length ? String(ids[b]) : "no live source");
    const each = found.slice(0, 8).map(([b, replicas, bytes]) => `${label(b)} (${bytes ? size(bytes) : plural(replicas, "replica")})`);
    const more = found.length > 8 ? ` and ${plural(found.length - 8, "other")}` : "";
    return `${verb} ${amount(sum(1), sum(2))}, ${word} ${each.join(", ")}${more}`;
  };
  byId("mover").addEventListener("change", (event) => {
    const broker = event.target.value === "" ? -1 : Number(event.target.value);
    byId("mover-text").textContent = broker < 0 ? ""
      : `${brokerName(broker).replace(/^b/, "B")} ${copies(partners("to", "from", broker), "receives", "from")}; ${copies(partners("from", "to", broker), "sends", "to")}.`;
  });
}
