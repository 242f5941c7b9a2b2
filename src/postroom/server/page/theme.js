// Before anything is painted, so that nothing flashes. Not a module, for those wait.
(function () {
  try {
    var chosen = localStorage.getItem("postroom.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.setAttribute("data-theme", chosen);
  } catch (_) {
    // A browser that keeps nothing follows the system.
  }
})();
