/** A form that performs one action: its fields keep their texts while the page is open, and its call is shown below. */
import type { ConsoleAction } from './actions.ts';
import { callBox } from './call-box.ts';
import type { ConsoleContext } from './context.ts';
import { textIn } from './dom.ts';
import { h, type Node } from './ui.ts';

/** Texts of all forms, by the names of fields. */
const texts = new Map<string, string>();
let busy = false;

export function textOfField(name: string): string {
  return texts.get(name) ?? '';
}

export function fillIn(name: string, text: string): void {
  texts.set(name, text);
}

export function formOf(context: ConsoleContext, action: ConsoleAction, words: string, fields: readonly Node[]): Node {
  const { perform, tenants, changed, made } = context;
  const last = made.at(-1);
  const isOwn = last?.call.title === action.call.title && last.outcome?.isGood === false;
  return h(
    'form',
    {
      onSubmit: (event: { preventDefault(): void }) => {
        event.preventDefault();
        if (busy) return;
        busy = true;
        changed();
        void perform(action.call, () => action.send(tenants.client)).finally(() => {
          busy = false;
          changed();
        });
      },
    },
    ...fields,
    h('button', { type: 'submit', class: 'primary', 'aria-disabled': String(busy) }, busy ? 'At work …' : words),
    isOwn ? h('p', { role: 'status', class: 'said bad' }, last?.outcome?.text ?? '') : null,
    callBox(context, action.call),
  );
}

export function field(
  { changed }: ConsoleContext,
  name: string,
  words: string,
  more: Readonly<Record<string, unknown>>,
): Node {
  return h(
    'label',
    { class: 'field', key: name },
    h('span', null, words),
    h('input', {
      ...{ name, value: textOfField(name), autocomplete: 'off', spellcheck: false },
      ...more,
      onInput: (event: { readonly target: unknown }) => {
        texts.set(name, textIn(event));
        changed();
      },
    }),
  );
}

export function choice(
  { changed }: ConsoleContext,
  name: string,
  words: string,
  choices: readonly (readonly [string, string])[],
): Node {
  const value = choices.some(([one]) => one === textOfField(name)) ? textOfField(name) : choices[0]?.[0];
  return h(
    'label',
    { class: 'field', key: name },
    h('span', null, words),
    h(
      'select',
      {
        ...{ name, value },
        onChange: (event: { readonly target: unknown }) => {
          texts.set(name, textIn(event));
          changed();
        },
      },
      ...choices.map(([one, shown]) => h('option', { value: one, key: one, selected: one === value }, shown)),
    ),
  );
}
