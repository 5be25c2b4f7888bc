// ---- tables that do not fit: their cut edges fade where there is more to see
for (const box of document.querySelectorAll(".scroll")) {
  const cue = () => {
    box.classList.toggle("more-right", box.scrollWidth - box.clientWidth - box.scrollLeft > 8);
    box.classList.toggle("more-below", box.scrollHeight - box.clientHeight - box.scrollTop > 8);
  };
  box.addEventListener("scroll", cue, { passive: true });
  const watched = new ResizeObserver(cue);
  watched.observe(box);
  for (const child of box.children) watched.observe(child);
}
