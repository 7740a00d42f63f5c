/** The faults of the sandbox: a form to arm one, made from the vocabulary; those that are armed; those that ended, and what they did. */
import type { CreateSandboxFault, SandboxFault, SandboxStreamSession } from '../../../client/generated-api.ts';
import { familyOf } from '../../../report/html/browser/addresses.ts';
import { scenarioCard } from '../scenario/scenario-card.ts';
import { type ConsoleAction, removeFault, resetFaults } from '../shared/actions.ts';
import { operationCall } from '../shared/call.ts';
import { callBox } from '../shared/call-box.ts';
import type { ConsoleContext, Words } from '../shared/context.ts';
import { textIn } from '../shared/dom.ts';
import { type FaultField, faultBody, fieldsOf, isCommon } from '../shared/fault-form.ts';
import { bar, button, card, chip, h, type Node, quiet, space } from '../shared/ui.ts';
import { counted, durationInWords } from '../shared/words.ts';

const familyNames = {
  byzantine: 'Nodes and coordinators that lie',
  process: 'Processes',
  link: 'Links',
  clock: 'Clocks',
  store: 'Stores and Redis',
  queue: 'Worker, receivers and deliveries',
  receipt: 'Receipts',
} as const;

/** Texts of the form's fields, by kind. */
const texts = new Map<string, Record<string, string>>();
const firstKind = 'bad_partial';
const sessionsMax = 5;

export function faultsPanel(context: ConsoleContext): Node {
  const { store, place, go } = context;
  const wanted = place.words.toLowerCase();
  const found = store.faults.filter((fault) => wanted === '' || JSON.stringify(fault).toLowerCase().includes(wanted));
  const armed = found.filter(({ state }) => state !== 'over');
  const ended = found.filter(({ state }) => state === 'over');
  return h(
    'div',
    { class: 'panel columns' },
    h('section', { class: 'card form' }, h('h2', null, 'Arm a fault'), form(context)),
    h(
      'div',
      { class: 'lists' },
      wanted === ''
        ? null
        : quiet(
            `Faults with “${place.words}”. `,
            button('Show all', { class: 'link', onClick: () => go({ words: '' }) }),
          ),
      card(
        bar(h('h2', null, 'Armed'), space(), armed.length === 0 ? null : act(context, resetFaults, 'Remove all')),
        armed.length === 0
          ? quiet('None: the cluster runs as it should. Arm one, and sign: the ceremony shows what it does.')
          : h('ul', { class: 'faults-list' }, ...armed.map((fault) => item(context, fault))),
      ),
      card(
        h('h2', null, 'Ended'),
        ended.length === 0
          ? quiet('None lately.')
          : h('ul', { class: 'faults-list' }, ...ended.map((fault) => item(context, fault))),
      ),
      scenarioCard(context),
    ),
  );
}

function act({ perform, client }: ConsoleContext, action: ConsoleAction, words: string): Node {
  return button(words, {
    'data-action': action.call.title,
    onClick: () => void perform(action.call, () => action.send(client)),
  });
}

function item(context: ConsoleContext, fault: SandboxFault): Node {
  const { store, go } = context;
  const { id, state, trigger_count: count, armed_at: armedAt, expires_at: expiresAt } = fault;
  const {
    fault: kind,
    target,
    ...rest
  } = fault.fault as { readonly fault: string; readonly target?: string | readonly string[] };
  const family = familyOf(kind);
  const touched = [...store.sessions.values()].filter(({ faults }) => faults.includes(id)).reverse();
  const times = count === 0 ? 'not triggered yet' : `triggered ${count === 1 ? 'once' : counted(count, 'time')}`;
  const now = Date.now();
  const details = Object.entries(rest)
    .filter(([name]) => name !== 'id')
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
  return h(
    'li',
    { key: id, 'data-fault': id },
    h(
      'div',
      { class: 'fault-head' },
      h('span', { class: `swatch ${family}` }),
      h('strong', null, kind),
      target === undefined ? null : h('span', null, `of ${[target].flat().join(', ')}`),
      state === 'over' ? null : chip(state, state),
      space(),
      state === 'over' ? null : act(context, removeFault(id), 'Remove'),
    ),
    h('p', { class: 'under' }, [id, times, ...details].join(' · ')),
    h(
      'p',
      { class: 'under' },
      `armed ${durationInWords(now - Date.parse(armedAt))} ago`,
      state === 'over' ? '' : `, removed in ${durationInWords(Date.parse(expiresAt) - now)}`,
    ),
    touched.length === 0
      ? null
      : h(
          'p',
          { class: 'touched' },
          `It touched ${counted(touched.length, 'ceremony', 'ceremonies')}: `,
          ...touched.slice(0, sessionsMax).map((session) => touchedLink(session, id, go)),
        ),
  );
}

function touchedLink({ session, state }: SandboxStreamSession, fault: string, go: ConsoleContext['go']): Node {
  return button(session, {
    class: `link id ${state}`,
    title: `its frames, with ${fault}`,
    onClick: () => go({ panel: 'ceremonies', chosen: session, words: fault }),
  });
}

function form(context: ConsoleContext): Node {
  const { words, place, store, go, client, perform, changed } = context;
  if (words === undefined) return quiet('Loading the vocabulary …');
  const isEmbedded = store.hello?.world === 'embedded';
  const kinds = words.kinds.filter(({ only }) => only === undefined || (only === 'simulated') === isEmbedded);
  const chosen =
    kinds.find(({ kind }) => kind === place.chosen) ?? kinds.find(({ kind }) => kind === firstKind) ?? kinds[0]!;
  const { kind, schema } = chosen;
  const values = texts.get(kind) ?? { target: firstTarget(chosen) };
  const body = faultBody(kind, schema, words.trigger, values);
  const fields = fieldsOf(schema, words.trigger).filter(
    ({ name }) => name !== 'target' || firstTarget(chosen) !== 'coordinator',
  );
  const set = (name: string) => (text: string) => {
    texts.set(kind, { ...values, [name]: text });
    changed();
  };
  const call = operationCall(`Arm ${kind}`, ['sandbox', 'createFault'], [], body);
  const send = () =>
    client.sandbox.createFault(body as unknown as CreateSandboxFault).then(({ id }) => `armed as ${id}`);
  const shown = (field: FaultField) => fieldOf(field, values[field.name] ?? '', set(field.name));
  return h(
    'form',
    {
      onSubmit: (event: { preventDefault(): void }) => {
        event.preventDefault();
        void perform(call, send);
      },
    },
    h(
      'label',
      { class: 'field' },
      h('span', null, 'Fault'),
      h(
        'select',
        {
          id: 'fault-kind',
          value: kind,
          onChange: (event: { readonly target: unknown }) => go({ chosen: textIn(event) }),
        },
        ...Object.entries(familyNames).map(([family, name]) => group(family, name, kinds, kind)),
      ),
      h('span', { class: 'help lead' }, sentence(schema.description ?? '')),
    ),
    ...fields.filter(({ name }) => !isCommon(name)).map(shown),
    h(
      'details',
      null,
      h('summary', null, 'When and how often'),
      ...fields.filter(({ name }) => isCommon(name)).map(shown),
    ),
    h(
      'datalist',
      { id: 'processes' },
      ...[...store.nodes.map(({ process }) => process), 'node/*', 'receiver'].map((name) =>
        h('option', { value: name }),
      ),
    ),
    h('button', { type: 'submit', class: 'primary' }, `Arm ${kind}`),
    problem(context, call.title),
    callBox(context, call),
  );
}

/** The vocabulary's texts are parts of sentences. */
function sentence(text: string): string {
  return text === '' ? '' : `${text[0]!.toUpperCase()}${text.slice(1).replace(/[.]$/, '')}.`;
}

function group(family: string, name: string, kinds: Words['kinds'], chosen: string): Node {
  const own = kinds.filter(({ kind }) => familyOf(kind) === family);
  if (own.length === 0) return null;
  return h(
    'optgroup',
    { label: name, key: family },
    ...own.map(({ kind }) => h('option', { value: kind, key: kind, selected: kind === chosen }, kind)),
  );
}

/** What the service said of this form's last call, beside the form. */
function problem({ made }: ConsoleContext, title: string): Node {
  const last = made.at(-1);
  if (last?.call.title !== title || last.outcome === undefined) return null;
  return h('p', { role: 'status', class: last.outcome.isGood ? 'said good' : 'said bad' }, last.outcome.text);
}

function firstTarget({ schema }: Words['kinds'][number]): string {
  const target = schema.properties?.target;
  if (target === undefined) return '';
  return target.const === 'coordinator' ? 'coordinator' : 'node/2';
}

function fieldOf(
  { name, how, choices, isRequired, help, minimum, maximum }: FaultField,
  text: string,
  set: (text: string) => void,
): Node {
  const common = { name, value: text, required: isRequired };
  const typed = (event: { readonly target: unknown }) => set(textIn(event));
  const input =
    how === 'choice'
      ? h(
          'select',
          { ...common, onChange: typed },
          isRequired && text !== '' ? null : h('option', { value: '' }, '–'),
          ...choices.map((choice) => h('option', { value: choice, selected: choice === text }, choice)),
        )
      : how === 'switch'
        ? h(
            'select',
            { ...common, onChange: typed },
            ...['', 'true', 'false'].map((choice) =>
              h(
                'option',
                { value: choice, selected: choice === text },
                choice === '' ? '–' : choice === 'true' ? 'yes' : 'no',
              ),
            ),
          )
        : h('input', {
            ...common,
            type: how === 'number' ? 'number' : 'text',
            min: minimum,
            max: maximum,
            step: 'any',
            list: name === 'target' || name === 'at.of' ? 'processes' : undefined,
            autocomplete: 'off',
            spellcheck: false,
            onInput: typed,
          });
  const bounds = minimum === undefined && maximum === undefined ? '' : `${minimum ?? ''} to ${maximum ?? ''}`;
  return h(
    'label',
    { class: 'field', key: name },
    h('span', null, name.replace('at.', 'at · '), isRequired ? h('em', null, 'required') : null),
    input,
    h('span', { class: 'help' }, [help, bounds].filter((part) => part !== '').join(' · ')),
  );
}
