(() => {
  const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  const outside = (a, b) => a.left < b.left || a.right > b.right || a.top < b.top || a.bottom > b.bottom;
  const measured = {
    window: innerWidth,
    width: document.documentElement.scrollWidth,
    tables: document.querySelectorAll("table").length,
    plots: 0, smallest: Infinity, outside: [], overlapping: [],
  };
  for (const svg of document.querySelectorAll("svg")) {
    const card = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")];
    const boxes = texts.map(text => text.getBoundingClientRect());
    measured.plots += 1;
    texts.forEach((text, index) => {
      const words = text.textContent.trim();
      measured.smallest = Math.min(measured.smallest, parseFloat(getComputedStyle(text).fontSize));
      if (outside(boxes[index], card)) measured.outside.push(words);
      for (let other = 0; other < index; other++)
        if (!apart(boxes[index], boxes[other])) measured.overlapping.push([texts[other].textContent.trim(), words]);
    });
  }
  return measured;
})()
