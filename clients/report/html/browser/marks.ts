/**
 * The lists above the diagram: faults with their trigger counts, and violations; each links to its place. Runs in the browser.
 */
import type { Ui } from './dom.ts';
import type { RunModel } from './model.ts';
import type { Panels } from './panels.ts';
import type { Spans } from './spans.ts';

export function showMarks(
  into: Ui,
  model: RunModel,
  spans: Spans,
  panels: Panels,
  go: { readonly to: (event: number) => void; readonly fault: (id: string) => void },
): void {
  const { make, button } = panels;
  const rowsMax = 60;
  const ms = (event: number) => `${model.at[event]!.toFixed(1)} ms`;
  const rest = (count: number) => (count > rowsMax ? [make('li', 'quiet', `and ${count - rowsMax} more`)] : []);
  if (spans.violations.length > 0) {
    const items = spans.violations.slice(0, rowsMax).map((event) =>
      make(
        'li',
        '',
        button(`${ms(event)}`, 'jump bad', () => go.to(event)),
        make('strong', '', model.text(event, 'invariant')),
        make('span', '', model.text(event, 'text')),
      ),
    );
    into.append(make('h2', '', 'Violations'), make('ul', 'marks', ...items, ...rest(spans.violations.length)));
  }
  if (spans.faults.length > 0) {
    const items = spans.faults.slice(0, rowsMax).map((span) => {
      const times = span.triggers.length;
      const triggered = times === 0 ? '' : times === 1 ? ', triggered once' : `, triggered ${times} times`;
      const frames = span.frames === 0 ? '' : `, ${span.frames} ${span.frames === 1 ? 'frame' : 'frames'}`;
      const idle = times + span.frames === 0 ? ', not triggered' : '';
      const first = span.triggers[0] ?? (span.firstFrame < 0 ? span.from : span.firstFrame);
      return make(
        'li',
        '',
        make('span', `swatch ${span.family}`),
        button(span.id, 'jump', () => go.to(first)),
        make('strong', '', span.fault),
        make('span', '', `of ${span.targets.join(', ')}`),
        make(
          'span',
          'quiet',
          `${ms(span.from)} – ${span.until < 0 ? 'end' : ms(span.until)}${triggered}${frames}${idle}`,
        ),
        button('only this', 'link', () => go.fault(span.id)),
      );
    });
    into.append(make('h2', '', 'Faults'), make('ul', 'marks', ...items, ...rest(spans.faults.length)));
  }
}
