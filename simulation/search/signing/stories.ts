/** The stories of random clients: what one does with a key, in a session of its own. */
import type { ScenarioStep } from '../../../scenarios/runner/format.ts';
import type { Story } from '../profiles.ts';
import { alterationOfCall } from './alterations.ts';
import { keyTerms } from './keys.ts';
import type { KeyPlan, SigningTerms, StepWriter, Wish } from './step-writer.ts';

/** An intent that several clients use. */
export interface SharedIntent {
  readonly intent: string;
  readonly terms: SigningTerms;
}

class Scene {
  readonly writer: StepWriter;
  readonly key: KeyPlan;
  readonly terms: SigningTerms;
  readonly session: string;
  readonly intents: SharedIntent[];

  constructor(writer: StepWriter, story: Story, key: KeyPlan, intents: SharedIntent[]) {
    this.writer = writer;
    this.key = key;
    this.terms = writer.terms(key);
    const patient = story !== 'changed' && (story === 'client_supplied' || writer.draw.chance(0.8));
    this.session = writer.session(key, patient);
    this.intents = intents;
  }

  initiate(more: Partial<Wish<Extract<ScenarioStep, { call: 'initiate_signing' }>>> = {}): void {
    this.writer.add({ call: 'initiate_signing', session: this.session, ...this.terms, ...more });
  }

  submit(more: Partial<Wish<Extract<ScenarioStep, { call: 'submit_signature_share' }>>> = {}): void {
    this.writer.add({ call: 'submit_signature_share', session: this.session, ...more });
  }

  resume(token: 'latest' | 'first' | 'wrong', witness = false): void {
    this.writer.add({ call: 'resume_session', session: this.session, token, witness });
  }

  /** One call for the signature. */
  sign(more: { readonly wallet_service?: true; readonly approval?: 'HUMAN_REQUIRED' } = {}): void {
    const { writer, session, terms } = this;
    writer.add({ call: 'sign', session, ...terms, ...more, insist: writer.draw.chance(0.6) });
  }

  node(): number {
    return this.writer.draw.int(1, this.key.totalNodes);
  }
}

/** `intents`: of the whole scenario, so that clients meet at one. */
export function tellStory(writer: StepWriter, drawn: Story, key: KeyPlan, intents: SharedIntent[]): void {
  // A client knows no node's own key.
  const isOut = key.ownType !== undefined && (drawn === 'client_supplied' || drawn === 'changed');
  const story = isOut ? 'steps' : key.wallet && writer.draw.chance(0.5) ? 'wallet' : drawn;
  tellers[story](new Scene(writer, story, key, intents));
  writer.mayWait();
}

const tellers: Readonly<Record<Story, (scene: Scene) => void>> = {
  sign: (scene) => scene.sign(),
  steps,
  approval,
  sameIntent,
  forced,
  client_supplied: clientSupplied,
  failedAndResumed,
  crowd,
  wallet: (scene) => (scene.key.wallet ? ofWallet(scene) : scene.sign()),
  changed,
  altered,
  inspected,
  wrongCalls,
  repeats,
};

function steps(scene: Scene): void {
  const { writer, key } = scene;
  scene.initiate();
  writer.mayWait();
  for (let left = writer.draw.int(1, key.threshold + 1); left > 0; left -= 1) scene.submit({ node: scene.node() });
  scene.submit();
}

function approval(scene: Scene): void {
  const { draw } = scene.writer;
  scene.initiate({ approval: 'HUMAN_REQUIRED', witness: draw.chance(0.2) });
  if (draw.chance(0.5)) scene.resume('latest');
  if (draw.chance(0.4)) scene.submit();
  if (draw.chance(0.4)) scene.resume('wrong', true);
  scene.writer.mayWait();
  if (draw.chance(0.9)) scene.resume('latest', true);
  if (draw.chance(0.5)) scene.resume('first', true);
  scene.submit();
}

function sameIntent(scene: Scene): void {
  const { writer, key, session, terms, intents } = scene;
  const { draw } = writer;
  // An intent is for one message under one key: every call for it has the same content.
  if (intents.length === 0 || draw.chance(0.3)) intents.push({ intent: `intent-${intents.length + 1}`, terms });
  const { intent, terms: shared } = draw.pick(intents);
  const same = { ...shared, intent, message: 'the same' };
  const directive = draw.chance(0.3) ? { directive: 'FORCE_BACKEND_FAILED' as const } : {};
  const approval = draw.chance(0.2) ? { approval: 'HUMAN_REQUIRED' as const, witness: draw.chance(0.5) } : {};
  writer.add({ call: 'initiate_signing', session, ...same, ...directive, ...approval });
  if (draw.chance(0.3)) scene.resume('latest');
  scene.submit();
  writer.add({ call: 'sign', session: writer.session(key, draw.chance(0.5)), ...same });
  // The first may have ended the session, which the second learns only now.
  if (draw.chance(0.4)) scene.resume('latest', true);
  if (draw.chance(0.5)) scene.submit();
}

function forced(scene: Scene): void {
  const { draw } = scene.writer;
  const failed = 'FORCE_BACKEND_FAILED';
  scene.initiate({ directive: draw.pick(['FORCE_DENIED', 'FORCE_REVOKED', 'FORCE_EXPIRED', failed, failed] as const) });
  scene.submit();
  scene.resume('latest');
  if (draw.chance(0.5)) scene.resume('first');
  scene.submit();
}

function clientSupplied(scene: Scene): void {
  const { draw } = scene.writer;
  scene.initiate({ insist: true });
  for (let left = draw.int(1, 3); left > 0; left -= 1) {
    const node = scene.node();
    scene.submit({ node, client_supplied: draw.pick(['right', 'right', 'wrong'] as const) });
    if (draw.chance(0.3)) scene.submit({ node, client_supplied: 'right' });
  }
  if (draw.chance(0.3)) scene.submit({ node: scene.node() });
  scene.submit();
}

function failedAndResumed(scene: Scene): void {
  scene.initiate({ directive: 'FORCE_BACKEND_FAILED' });
  scene.resume('latest');
  scene.submit();
  // Resumes after any other cause of failure.
  scene.resume('latest');
  scene.resume('first');
  scene.submit();
  scene.resume('latest');
}

/** Many calls for one session, more than its limit, while it loses its memory between them. */
function crowd(scene: Scene): void {
  const { writer } = scene;
  scene.initiate();
  for (let left = writer.draw.int(2, 5); left > 0; left -= 1) {
    scene.submit({ node: scene.node() });
    writer.mayWait();
    if (writer.draw.chance(0.3)) scene.resume('wrong');
  }
  scene.submit();
}

function ofWallet(scene: Scene): void {
  const { writer, key, terms } = scene;
  const { draw } = writer;
  const close = (more: { readonly clients_only?: true } = {}) =>
    writer.add({ call: 'close_key', session: key.session, ...more });
  const approval = draw.chance(0.2) ? { approval: 'HUMAN_REQUIRED' as const } : {};
  scene.sign({ wallet_service: true, ...approval });
  if (draw.chance(0.4)) scene.submit();
  const other = writer.session(key, false);
  writer.add({ call: 'initiate_signing', session: other, ...terms });
  if (draw.chance(0.5)) writer.add({ call: 'submit_signature_share', session: other, node: scene.node() });
  if (draw.chance(0.3)) close({ clients_only: true });
  if (key.closes && draw.chance(0.5)) close();
  writer.add({ call: 'submit_signature_share', session: other });
  if (draw.chance(0.4)) {
    // Another message under the intent that the wallet service has signed for.
    const again = { wallet_service: true, intent: `${writer.name}-own-${writer.steps.length}` } as const;
    writer.add({ call: 'sign', session: writer.session(key, false), ...terms, ...again, message: 'one' });
    const message = draw.pick(['one', 'another']);
    writer.add({ call: 'sign', session: writer.session(key, false), ...terms, ...again, message });
  }
  if (key.closes && draw.chance(0.3)) close();
}

/** Another message for an intent that nodes have signed: they refuse it. */
function changed(scene: Scene): void {
  const { writer, key, terms } = scene;
  const intent = `${writer.name}-changed-${writer.steps.length}`;
  scene.initiate({ intent, message: 'one' });
  for (let left = writer.draw.int(1, key.threshold); left > 0; left -= 1) scene.submit({ node: scene.node() });
  if (writer.swarm.clocksJump) writer.add({ advance_ms: 1_000_000 });
  else writer.add({ wait: { ms: 1_600 } });
  const other = writer.session(key, false);
  writer.add({ call: 'initiate_signing', session: other, ...terms, intent, message: 'another' });
  writer.add({ call: 'submit_signature_share', session: other, node: scene.node() });
  writer.add({ call: 'submit_signature_share', session: other });
  writer.add({ call: 'resume_session', session: other, token: 'latest' });
}

/** Calls with one field out of its range, about an existing session, and about none. */
function altered(scene: Scene): void {
  const { writer, key, session } = scene;
  const { draw } = writer;
  const terms = writer.terms(key);
  writer.add({ call: 'initiate_signing', session, ...terms });
  if (draw.chance(0.3)) {
    writer.add({
      call: 'initiate_signing',
      session: writer.session(key, false),
      ...terms,
      approval: 'HUMAN_REQUIRED',
    });
  }
  for (let left = draw.int(2, 6); left > 0; left -= 1) alteredCall(scene, terms);
  scene.submit();
}

function inspected(scene: Scene): void {
  const { writer, key, session } = scene;
  const { draw } = writer;
  const preview = (node: number) => writer.add({ call: 'preview_partial', session, node });
  scene.initiate();
  for (let left = draw.int(2, 5); left > 0; left -= 1) {
    if (draw.chance(0.4)) writer.add({ call: 'inspect_session', session: draw.pick([session, key.session]) });
    else preview(draw.pick([scene.node(), scene.node(), scene.node(), 0, key.totalNodes + 1]));
    if (draw.chance(0.3)) scene.submit({ node: scene.node() });
    writer.mayWait();
  }
  scene.submit();
  if (draw.chance(0.5)) writer.add({ call: 'inspect_session', session });
  if (draw.chance(0.5)) preview(scene.node());
}

function wrongCalls(scene: Scene): void {
  const { writer, key } = scene;
  const { draw } = writer;
  if (draw.chance(0.4)) scene.initiate({ contract_version: draw.pick(['9.0', 'x', '1.0']) });
  else if (draw.chance(0.5)) scene.initiate({ path: draw.pick(["m/0/1'", 'm/x', 'm/4294967296']) });
  else scene.initiate();
  scene.submit({ node: draw.pick([99, key.totalNodes + 1, 1]) });
  scene.resume('wrong');
  if (key.ownType !== undefined || !draw.chance(0.5)) return;
  // A valid share would make this dealer client-supplied, if the key is not made yet, and the client would owe the others.
  const wrong = { sender: 1, recipient: 1, client_supplied: 'wrong' } as const;
  writer.add({ call: 'exchange_dkg_shares', session: key.session, ...wrong });
}

function repeats(scene: Scene): void {
  const { draw } = scene.writer;
  scene.initiate();
  for (let left = draw.int(2, 4); left > 0; left -= 1) scene.submit(draw.chance(0.4) ? { node: scene.node() } : {});
  scene.resume('latest', true);
  scene.submit();
}

/** One call with one field altered. */
function alteredCall({ writer, key, session }: Scene, terms: SigningTerms): void {
  const { draw } = writer;
  const { session: key_session, totalNodes } = key;
  const kind = draw.pick([
    'initiate_signing',
    'initiate_signing',
    'initiate_signing',
    'submit_signature_share',
    'submit_signature_share',
    'resume_session',
    'initiate_dkg',
    'initiate_dkg',
    'exchange_dkg_shares',
    'exchange_dkg_shares',
    'inspect_session',
    'preview_partial',
  ] as const);
  const alter = alterationOfCall(kind, draw)!;
  const node = draw.int(1, totalNodes);
  switch (kind) {
    case 'initiate_signing': {
      const asked = draw.pick([
        undefined,
        undefined,
        'archived',
        'intents_only',
        'human_required',
        'custodian',
      ] as const);
      // Of the wallet only, or of the field only: either must be enough.
      const about = asked === undefined ? { alter } : { wallet_terms: asked };
      const more = { ...(draw.chance(0.2) && { path: "m/44'/0" }), ...(draw.chance(0.2) && { witness: true }) };
      writer.add({ call: kind, session: writer.session(key, false), ...terms, ...more, ...about });
      return;
    }
    case 'submit_signature_share':
      writer.add({
        call: kind,
        session,
        ...(draw.chance(0.7) && {
          node,
          ...(key.ownType === undefined && draw.chance(0.5) && { client_supplied: 'right' as const }),
        }),
        alter,
      });
      return;
    case 'resume_session':
      writer.add({ call: kind, session, token: draw.pick(['latest', 'wrong']), witness: draw.chance(0.5), alter });
      return;
    case 'initiate_dkg':
      // An accepted call begins a session that no other step uses.
      writer.add({
        call: kind,
        ...keyTerms(key),
        session: alter.change === 'huge' ? key_session : `${writer.name}-key-${writer.steps.length}`,
        alter,
      });
      return;
    case 'exchange_dkg_shares': {
      // A valid share would make its dealer client-supplied, if the key is not made yet: only shares with an invalid form.
      const isForm = key.ownType === undefined && !/^(session_id|context)/.test(alter.field);
      const isRefused = isForm && alter.field !== 'commitments.0' && alter.field !== 'sender_node_id';
      const given = isRefused
        ? { sender: node, recipient: draw.int(1, totalNodes), client_supplied: 'wrong' as const }
        : {};
      writer.add({ call: kind, session: key_session, ...given, alter });
      return;
    }
    case 'inspect_session':
      writer.add({ call: kind, session, alter });
      return;
    case 'preview_partial':
      writer.add({ call: kind, session, node, alter });
  }
}
