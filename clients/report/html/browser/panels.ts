/**
 * The texts beside the diagram: the selected event, and every actor's state at that moment. Runs in the browser. Texts of a run
 * become text nodes, never markup.
 */
import { processOf } from './addresses.ts';
import type { Browser, Ui } from './dom.ts';
import type { RunModel } from './model.ts';
import type { Spans } from './spans.ts';

export interface Panels {
  /** An element with a class and its content. */
  make(name: string, className: string, ...children: readonly (Ui | string)[]): Ui;
  button(words: string, className: string, pressed: () => void): Ui;
  /** `event` -1: none is selected. */
  showEvent(into: Ui, event: number, choices: { readonly session: (name: string) => void }): void;
  /** The states right after `event`, of actors whose address contains `words`, the latest change first. */
  showStates(into: Ui, event: number, words: string): void;
  /** The event in one line, for screen readers. */
  line(event: number): string;
}

export function makePanels(browser: Browser, model: RunModel, spans: Spans): Panels {
  const { document } = browser;
  const rowsMax = 300;
  const make: Panels['make'] = (name, className, ...children) => {
    const element = document.createElement(name);
    if (className !== '') element.className = className;
    element.append(...children);
    return element;
  };
  const button: Panels['button'] = (words, className, pressed) => {
    const element = make('button', className, words);
    element.setAttribute('type', 'button');
    element.addEventListener('click', pressed);
    return element;
  };
  const ms = (time: number) => `${time.toFixed(3)} ms`;
  const pairs = (rows: readonly (readonly [string, Ui | string])[]) =>
    make('dl', 'pairs', ...rows.flatMap(([name, value]) => [make('dt', '', name), make('dd', '', value)]));

  const showEvent: Panels['showEvent'] = (into, event, choices) => {
    if (event < 0) {
      into.replaceChildren(make('p', 'quiet', 'Click an event, or press the arrow keys in the diagram.'));
      return;
    }
    const kind = model.kindName(event);
    const rows: (readonly [string, Ui | string])[] = [['at', ms(model.at[event]!)]];
    const add = (name: string, shown: string) => {
      if (shown !== '') rows.push([name, shown]);
    };
    for (const shape of model.run.shapes[model.kind[event]!]!) {
      const name = shape.slice(1);
      const value = model.value(event, name);
      if (name === 'arrives') {
        const first = model.arrivalStart[event]!;
        const after = value as readonly number[];
        const words = after.map(
          (late, copy) => `${ms(model.rankTime[model.arrivalRank[first + copy]!]!)} (after ${ms(late)})`,
        );
        rows.push(['arrives', after.length === 0 ? 'never: it is lost' : words.join(', ')]);
      } else if (name === 'session' && value !== '') {
        const session = String(value);
        rows.push(['session', button(session, 'link', () => choices.session(session))]);
      } else if (name !== 'fields') add(name, Array.isArray(value) ? value.join(', ') : String(value));
    }
    const head = make(
      'p',
      'event-head',
      make('span', `kind kind-${kind}`, kind),
      make('strong', '', model.title(event) || kind),
      make('span', 'number', `${event + 1} of ${model.count}`),
    );
    const before = spans.stateBefore(event);
    const fields = model.fields(event).map(([name, value]) => {
      const was = before?.fields.get(name);
      const old = was === undefined || was === value ? '' : ` (was ${was || 'none'})`;
      return [name, `${value || 'none'}${old}`] as const;
    });
    into.replaceChildren(head, pairs(rows), ...(fields.length === 0 ? [] : [make('h3', '', 'Fields'), pairs(fields)]));
  };

  const showStates: Panels['showStates'] = (into, event, words) => {
    const states = event < 0 ? new Int32Array(0) : spans.statesAt(event);
    const byProcess = new Map<string, { readonly address: string; readonly event: number }[]>();
    for (const process of spans.processNames) byProcess.set(process, []);
    let count = 0;
    const order = [...states.keys()].filter((actor) => states[actor]! >= 0);
    order.sort((a, b) => states[b]! - states[a]!);
    for (const actor of order) {
      const address = spans.actors[actor]!;
      if (!address.toLowerCase().includes(words.toLowerCase())) continue;
      count += 1;
      if (count > rowsMax) continue;
      const process = processOf(address);
      if (!byProcess.has(process)) byProcess.set(process, []);
      byProcess.get(process)!.push({ address, event: states[actor]! });
    }
    const groups = [...byProcess].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
    into.replaceChildren(
      ...groups
        .filter(([, actors]) => words === '' || actors.length > 0)
        .map(([process, actors]) => {
          const health = event < 0 ? 'up' : spans.processAt(process, event);
          const head = make('h3', 'process', process, make('span', `health ${health.replace(' ', '-')}`, health));
          const rows = actors.map((actor) => {
            const state = model.text(actor.event, 'state');
            const row = make(
              'div',
              actor.event === event ? 'actor changed' : 'actor',
              make(
                'p',
                'actor-head',
                make('span', 'address', actor.address),
                make('span', 'state', state),
                make('span', 'since', `since ${ms(model.at[actor.event]!)}`),
              ),
              pairs(model.fields(actor.event).map(([name, value]) => [name, value || 'none'] as const)),
            );
            row.dataset.address = actor.address;
            row.dataset.state = state;
            return row;
          });
          return make('section', 'group', head, ...rows);
        }),
      ...(count > rowsMax ? [make('p', 'quiet', `and ${count - rowsMax} more: narrow them by a word`)] : []),
    );
  };

  const line = (event: number) => {
    const to = model.text(event, 'to');
    const arrow = to === '' ? '' : ` to ${to}`;
    const faults = model.list(event, 'faults');
    return [
      `${ms(model.at[event]!)}, ${model.kindName(event)} ${model.title(event)}`,
      `${model.origin(event)}${arrow}`,
      model.text(event, 'text'),
      faults.length === 0 ? '' : `touched by ${faults.join(', ')}`,
    ]
      .filter((part) => part !== '')
      .join(', ');
  };
  return { make, button, showEvent, showStates, line };
}
