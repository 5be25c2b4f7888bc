// ---- theme
const themes = ["system", "light", "dark"];
const themeButton = byId("theme");
const store = {
  get() { try { return localStorage.getItem("partage-theme"); } catch { return null; } },
  set(value) { try { localStorage.setItem("partage-theme", value); } catch { /* a file page may have no storage */ } },
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
