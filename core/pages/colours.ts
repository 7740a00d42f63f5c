/** Colours and fonts of every page: light by day and dark by night, one colour for each family of faults. */

export const families = {
  process: ['#c2500f', '#f2965c'],
  link: ['#0b7285', '#4cc0d4'],
  byzantine: ['#9c27a3', '#de82e4'],
  clock: ['#8a6a00', '#d9b84a'],
  store: ['#4a7a12', '#9fc65e'],
  queue: ['#6248c8', '#a898f5'],
  receipt: ['#80502f', '#d0a27f'],
} as const;

const paper = {
  ground: ['#fcfbf8', '#16181c'],
  panel: ['#f5f3ee', '#1d2025'],
  raised: ['#ffffff', '#24282e'],
  ink: ['#22262b', '#e4e2dc'],
  muted: ['#6a6e75', '#9a9ea6'],
  line: ['#7d8791', '#78828e'],
  rule: ['#dfdbd2', '#343940'],
  accent: ['#1f5fc4', '#7eaef7'],
  good: ['#2b7a4b', '#6cc792'],
  bad: ['#c0203c', '#ff7388'],
  'lane-0': ['#ebe8e1', '#2a2e34'],
  'lane-1': ['#d5e0ee', '#2b3b52'],
  'lane-2': ['#e1e8f2', '#26324a'],
  'lane-good': ['#d3e9da', '#24452f'],
  'lane-bad': ['#f5d6d8', '#552830'],
} as const;

const variables = (theme: 0 | 1) =>
  Object.entries({ ...paper, ...families })
    .map(([name, colours]) => `--${name}:${colours[theme]};`)
    .join('');

export const sans = 'system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif';
export const mono = 'ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace';

/** Colours of both themes, and the fonts of the diagram. */
export const themes = `
:root{color-scheme:light dark;${variables(0)}
--small-font:11px ${sans};--mono-font:11px ${mono};--head-font:600 12.5px ${sans}}
@media (prefers-color-scheme:dark){:root{${variables(1)}}}
`;
