/** A scenario file: what this page did, to copy and to keep; and one that runs on this sandbox, with its progress. */
import type { SandboxScenario } from '../../../client/generated-api.ts';
import { operationCall } from '../shared/call.ts';
import { copy } from '../shared/call-box.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { textIn } from '../shared/dom.ts';
import { button, chip, h, type Node, quiet } from '../shared/ui.ts';
import { operationAt } from './saved-operations.ts';

/** What stands in the field. */
let file = '';
let resets = false;
let note = '';

export function scenarioCard(context: ConsoleContext): Node {
  const { store, changed, perform, client } = context;
  const { scenario } = store;
  const isRunning = scenario?.state === 'running';
  const start = operationCall('Run the scenario', ['sandbox', 'startScenario'], [], { file, reset: resets });
  const end = operationCall('End the scenario', ['sandbox', 'endScenario']);
  const run = () =>
    void perform(start, async () => `${(await client.sandbox.startScenario({ file, reset: resets })).scenario} runs`);
  const stop = () => void perform(end, () => client.sandbox.endScenario());
  const last = context.made.at(-1);
  const isRefused = last?.call.title === start.title && last.outcome?.isGood === false;
  return h(
    'section',
    { class: 'card form', id: 'scenario' },
    h('h2', null, 'Scenario file'),
    h(
      'p',
      { class: 'help' },
      'Save what this page did as a file that does it again, without its secrets; or paste one, and run it here.',
    ),
    h(
      'span',
      { class: 'try' },
      button('Save as scenario', { class: 'primary', onClick: () => void save(context) }),
      file === '' ? null : button('Copy', { onClick: () => copy(context, file) }),
    ),
    note === '' ? null : quiet(note),
    h(
      'label',
      { class: 'field' },
      h('span', null, 'File (YAML)'),
      h('textarea', {
        ...{ id: 'scenario-file', rows: 12, spellcheck: false, value: file },
        onInput: (event: { readonly target: unknown }) => {
          file = textIn(event);
          changed();
        },
      }),
    ),
    h(
      'span',
      { class: 'try' },
      h(
        'label',
        null,
        h('input', {
          ...{ type: 'checkbox', id: 'scenario-reset', checked: resets },
          onChange: () => {
            resets = !resets;
            changed();
          },
        }),
        ' reset the sandbox first: its data is lost',
      ),
      isRunning
        ? button('End it', { class: 'harmful', onClick: stop })
        : button('Run it here', { 'aria-disabled': String(file === ''), onClick: () => file !== '' && run() }),
    ),
    isRefused ? h('p', { role: 'status', class: 'said bad' }, last?.outcome?.text ?? '') : null,
    scenario === null ? null : progress(scenario),
  );
}

function progress({ scenario, state, steps, begun, step, cause }: SandboxScenario): Node {
  const kind = state === 'passed' ? 'completed' : state === 'running' ? 'running' : 'failed';
  const at = `step ${begun} of ${steps}${step === null ? '' : `: ${step}`}`;
  return h(
    'div',
    { id: 'scenario-progress' },
    h('strong', null, scenario),
    ' ',
    chip(state, kind),
    h('p', { class: 'under' }, at),
    cause === '' ? null : h('p', { class: 'said bad' }, cause),
  );
}

async function save(context: ConsoleContext): Promise<void> {
  const { ownRequests, store, tenants, words, changed, announce } = context;
  const clusters = store.hello?.clusters ?? [];
  const [own] = tenants.held;
  try {
    const { savedScenario } = await import('./saved-scenario.ts');
    const text = savedScenario({
      ...{ ownRequests, own, clusters: clusters.length, nodes: clusters[0]?.nodes ?? 0 },
      session: (id) => {
        const seen = [...store.sessions.values()].findLast(({ session }) => session === id);
        return seen && { ...seen, curve: store.reads.get(`${seen.tenant}/${id}`)?.curve ?? null };
      },
      intents: await statusesOf(context),
      only: new Map((words?.kinds ?? []).flatMap(({ kind, only }) => (only === undefined ? [] : [[kind, only]]))),
    });
    file = text ?? file;
    note = text === undefined ? 'This page has done nothing yet that a step can say.' : '';
    announce(text === undefined ? note : 'Saved as a scenario: copy it');
  } catch (error) {
    note = `It was not saved: ${error instanceof Error ? error.message : String(error)}`;
  }
  changed();
}

/** Of the intents that this page made, by id. */
async function statusesOf({ ownRequests, tenants }: ConsoleContext): Promise<ReadonlyMap<string, string>> {
  const made = ownRequests.flatMap(({ method, target, answer, by }) => {
    const found = operationAt(method, target);
    const { id } = (answer ?? {}) as { readonly id?: string };
    return found?.name === 'intents.create' && id !== undefined ? [{ id, wallet: found.params.id ?? '', by }] : [];
  });
  const read = made.map(async ({ id, wallet, by }) => {
    const client = by === undefined ? tenants.client : tenants.clientOf(by.tenant);
    const intent = await client?.intents.get(wallet, id).catch(() => undefined);
    return [id, intent?.status ?? 'created'] as const;
  });
  return new Map(await Promise.all(read));
}
