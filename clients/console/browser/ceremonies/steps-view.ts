/** The steps of an open session, one button each: which node deals to which, and which node answers. */
import type { SandboxSession } from '../../../client/generated-api.ts';
import type { Client } from '../../../client/index.ts';
import type { ConsoleAction } from '../shared/actions.ts';
import { callBox } from '../shared/call-box.ts';
import type { ConsoleContext } from '../shared/context.ts';
import { button, h, type Node, quiet, space, table } from '../shared/ui.ts';
import { counted } from '../shared/words.ts';
import { exchange, partial, verifiedBy, whyNotStepped } from './steps.ts';

/** The step whose call is shown. */
let shown: ConsoleAction | undefined;
let shownOf = '';
/** A table of pairs is that wide at most. */
const columnsMax = 10;

/** `client`: of the session's tenant. `stepped`: after each step. */
export function stepsView(
  context: ConsoleContext,
  client: Client,
  read: SandboxSession | null | undefined,
  stepped: () => void,
): Node {
  const why = whyNotStepped(read);
  if (why === undefined || read === undefined) return null;
  return h(
    'section',
    { class: 'card steps', role: 'region', 'aria-label': 'Step it' },
    h('h3', null, 'Step it'),
    why !== '' || read === null
      ? quiet(why)
      : read.kind === 'dkg'
        ? dealing(context, read, stepButton(context, client, read, stepped))
        : answering(context, read, stepButton(context, client, read, stepped)),
  );
}

type StepButton = (action: ConsoleAction, words: string, kind?: string) => Node;

function dealing(context: ConsoleContext, read: SandboxSession, step: StepButton): Node {
  const { id, participants: nodes } = read;
  const verified = verifiedBy(read);
  const whole = exchange(id, 0, 0);
  const columns = nodes.length > columnsMax ? [] : nodes;
  const isVerified = (dealer: number, node: number) => verified.get(dealer)?.has(node) === true;
  const count = (dealer: number) => nodes.filter((node) => node !== dealer && isVerified(dealer, node)).length;
  const verifiedPairs = nodes.reduce((sum, dealer) => sum + count(dealer), 0);
  const rows = nodes.map((dealer) => {
    const given = count(dealer);
    const isSupplied = read.client_supplied_dealers.includes(dealer);
    return h(
      'tr',
      { key: dealer },
      h('th', { scope: 'row' }, `node ${dealer}`, isSupplied ? h('span', { class: 'under' }, 'a client’s') : null),
      ...columns.map((node) =>
        h(
          'td',
          { key: node },
          node === dealer
            ? '–'
            : isVerified(dealer, node)
              ? h('span', { class: 'verified' }, '✓', h('span', { class: 'unseen' }, ' verified'))
              : step(exchange(id, dealer, node), '→', 'pair'),
        ),
      ),
      h('td', { class: 'number' }, `${given} of ${nodes.length - 1}`),
      h('td', null, given === nodes.length - 1 ? null : step(exchange(id, dealer, 0), 'Deals to all')),
    );
  });
  return h(
    'div',
    { class: 'step-by-step' },
    h(
      'div',
      null,
      h(
        'p',
        { class: 'bar' },
        `A dealer sends a share to each other node, which verifies it: ${verifiedPairs} of ${counted(nodes.length * (nodes.length - 1), 'pair')} so far.`,
        space(),
        step(whole, 'All the rest', 'primary'),
      ),
      table('Who deals to whom', ['Dealer', ...columns.map((node) => `to ${node}`), 'Verified', 'Step'], rows),
    ),
    shownCall(context, id, whole),
  );
}

function answering(context: ConsoleContext, read: SandboxSession, step: StepButton): Node {
  const { id, participants: nodes, submitted, signers, given, culprits, threshold } = read;
  const whole = partial(id, 0);
  const part = (node: number) =>
    culprits.includes(node)
      ? 'excluded: it gave a wrong one'
      : submitted.includes(node)
        ? given.includes(node)
          ? 'its partial is in, from a client'
          : 'its partial is in'
        : signers.includes(node)
          ? 'is expected'
          : signers.length > 0
            ? 'would begin a fresh attempt'
            : 'may answer';
  const rows = nodes.map((node) =>
    h(
      'tr',
      { key: node },
      h('th', { scope: 'row' }, `node ${node}`),
      h('td', null, part(node)),
      h('td', null, submitted.includes(node) || culprits.includes(node) ? null : step(partial(id, node), 'Answers')),
    ),
  );
  return h(
    'div',
    { class: 'step-by-step' },
    h(
      'div',
      null,
      h(
        'p',
        { class: 'bar' },
        `${submitted.length} of ${counted(threshold, 'partial signature')} so far.`,
        space(),
        step(whole, 'All the rest', 'primary'),
      ),
      table('Which node answers', ['Node', 'Its partial', 'Step'], rows),
    ),
    shownCall(context, id, whole),
  );
}

function stepButton(
  { perform, changed }: ConsoleContext,
  client: Client,
  { id }: SandboxSession,
  stepped: () => void,
): StepButton {
  return (action, words, kind = '') => {
    const show = () => {
      if (shownOf === id && shown?.name === action.name) return;
      [shown, shownOf] = [action, id];
      changed();
    };
    return button(words, {
      class: kind,
      'aria-label': `${words}: ${action.name}`,
      title: action.name,
      onFocus: show,
      onPointerEnter: show,
      onClick: () => void perform(action.call, () => action.send(client)).then(stepped),
    });
  };
}

function shownCall(context: ConsoleContext, id: string, first: ConsoleAction): Node {
  return callBox(context, (shownOf === id ? (shown ?? first) : first).call);
}
