/** A call as a shell and a program would make it, to read and to copy; and the last call that the page made. */
import { type Call, curlOf, programOf } from './call.ts';
import type { ConsoleContext } from './context.ts';
import { button, choices, code, h, type Node } from './ui.ts';

/** How calls are shown: one choice for the whole page. */
let language: 'curl' | 'client' = 'curl';
const languages = { curl: 'curl', 'signmesh/client': 'client' } as const;

export function textOf(call: Call, origin: string): string {
  return language === 'curl' ? call.requests.map((one) => curlOf(one, origin)).join('\n\n') : programOf(call, origin);
}

export function callBox(context: ConsoleContext, call: Call): Node {
  const { page, changed } = context;
  const text = textOf(call, page.location.origin);
  return h(
    'figure',
    { class: 'call', 'aria-label': `The call: ${call.title}` },
    h(
      'figcaption',
      null,
      choices('Language', languages, language, (chosen) => {
        language = chosen;
        changed();
      }),
      button('Copy', { class: 'quiet-button', onClick: () => copy(context, text) }),
    ),
    code(text),
  );
}

export function lastCall(context: ConsoleContext): Node {
  const last = context.made.at(-1);
  if (last === undefined) return null;
  const { call, outcome } = last;
  const kind = outcome === undefined ? 'running' : outcome.isGood ? 'good' : 'bad';
  return h(
    'details',
    { class: `last-call ${kind}` },
    h(
      'summary',
      null,
      h('span', { class: `dot ${kind}` }),
      h('strong', null, call.title),
      h('span', { class: 'outcome' }, outcome?.text ?? 'under way …'),
      h('span', { class: 'hint' }, 'show the call'),
    ),
    callBox(context, call),
  );
}

export function copy({ page, announce }: ConsoleContext, text: string): void {
  const { clipboard } = page.navigator;
  if (clipboard === undefined) announce('This browser does not let the page copy: select the text');
  else
    void clipboard.writeText(text).then(
      () => announce('Copied'),
      () => announce('This browser does not let the page copy: select the text'),
    );
}
