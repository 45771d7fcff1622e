(() => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  const shown = (element) => element.getClientRects().length > 0;
  let smallest = Infinity;
  for (const element of document.body.querySelectorAll("*")) {
    const texts = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
    if (element.tagName === "SCRIPT" || element.tagName === "title" || !texts.length || !shown(element)) continue;
    smallest = Math.min(smallest, parseFloat(getComputedStyle(element).fontSize));
  }
  let [bad, count] = [0, 0];
  for (const tree of document.querySelectorAll("svg.tree")) {
    const boxes = [];
    for (const label of tree.querySelectorAll("text")) {
      const [box, area] = [label.getBoundingClientRect(), label.previousElementSibling.getBoundingClientRect()];
      if (box.width === 0) continue;
      const inside = box.left >= area.left - 1 && box.right <= area.right + 1 && box.bottom <= area.bottom + 2;
      const over = boxes.some((other) =>
        box.left < other.right - 1 && other.left < box.right - 1 &&
        box.top < other.bottom - 3 && other.top < box.bottom - 3);
      bad += !inside || over ? 1 : 0;
      boxes.push(box);
    }
    count += boxes.length;
  }
  return {
    window: window.innerWidth,
    content: document.documentElement.scrollWidth,
    smallest_text: smallest,
    bad_labels: bad,
    labels: count,
    scripts: document.scripts.length,
  };
})()
