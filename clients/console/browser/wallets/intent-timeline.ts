/** An intent as the steps that it passes, and one sentence that says why it is as it is. Pure. */
import type { Intent, SandboxFault } from '../../../client/generated-api.ts';
import { faultInWords } from '../shared/why.ts';
import type { IntentGrounds } from './wallet-data.ts';

export interface IntentStep {
  readonly name: string;
  /** `bad`: it ended here. */
  readonly state: 'done' | 'now' | 'bad' | 'next' | 'none';
  /** RFC 3339; empty: not reached, or not recorded by itself. */
  readonly at: string;
  readonly words: readonly string[];
  /** Sessions of the signing API. */
  readonly sessions: readonly string[];
}

const order: readonly string[] = [
  ...['created', 'screening', 'pending_approval', 'approved'],
  ...['signing', 'broadcasting', 'confirming', 'completed'],
];
const endings: readonly string[] = ['denied', 'rejected', 'expired', 'cancelled', 'failed'];

export function endedBadly({ status }: Pick<Intent, 'status'>): boolean {
  return endings.includes(status);
}

/** `grounds`: undefined while they are read. */
export function stepsOfIntent(intent: Intent, grounds: IntentGrounds | undefined): readonly IntentStep[] {
  const { status, sub_status: subStatus, provider_tx_id: hash, provider_status: providerStatus } = intent;
  const at = (name: string) => intent.status_history.find((one) => one.status === name)?.at ?? '';
  const signed = (intent.provider_details ?? intent.message)?.signing_session_ids ?? [];
  const isDenied = status === 'denied';
  const isBlocked = isDenied && subStatus === 'SCREENING_BLOCKED';
  const part = (
    name: string,
    state: IntentStep['state'],
    words: readonly string[],
    more: Partial<IntentStep> = {},
  ) => ({
    ...{ name, state, at: '', words, sessions: [], ...more },
  });
  const stage = (name: string, status: string, words: readonly string[], sessions: readonly string[] = []) =>
    part(name, stateOf(intent, status), words, { at: at(status), sessions });
  return [
    part('Submitted', 'done', [`by ${intent.initiator}`], { at: at('created') }),
    part('Screening', isBlocked ? 'bad' : 'done', screening(grounds), { at: at('screening') }),
    part('Risk', 'done', risk(intent, grounds)),
    part('Policy', isBlocked ? 'none' : isDenied ? 'bad' : 'done', policy(intent, grounds)),
    part('Approvals', approvalState(intent), approvals(intent), { at: at('pending_approval') }),
    stage('Signing', 'signing', signed.length === 0 ? [] : ['by the cluster’s nodes'], signed),
    ...(intent.message === null
      ? [
          stage('Broadcast', 'broadcasting', [hash ?? [], rivals(intent)].flat()),
          stage('Confirmations', 'confirming', providerStatus === null ? [] : [providerStatus]),
        ]
      : []),
    stage('Completed', 'completed', []),
  ];
}

/** The intents that compete with it for one place on its network. */
function rivals({ replaces, replaced_by: replacedBy }: Intent): readonly string[] {
  return [
    ...(replaces === null ? [] : [`in the place of ${replaces}`]),
    ...(replacedBy === null ? [] : [`${replacedBy} takes its place`]),
  ];
}

/** How far it came before it ended, in `order`. */
function reachedOf({ status_history: history }: Intent): number {
  return Math.max(...history.map(({ status }) => order.indexOf(status)));
}

function stateOf(intent: Intent, stage: string): IntentStep['state'] {
  const [index, reached] = [order.indexOf(stage), reachedOf(intent)];
  if (!endedBadly(intent)) {
    if (intent.status === stage && stage !== 'completed') return 'now';
    return index <= reached ? 'done' : 'next';
  }
  // What was approved and then failed broke at its signing at the earliest.
  const broke = reached < order.indexOf('approved') ? Number.NaN : Math.max(reached, order.indexOf('signing'));
  return index === broke ? 'bad' : index < broke ? 'done' : 'none';
}

function screening(grounds: IntentGrounds | undefined): readonly string[] {
  const { report } = grounds ?? {};
  if (report === undefined) return [];
  const found = report.matches.map(({ list_name: list, kind, entry }) => `${entry} is on the ${kind} list ${list}`);
  const lists = Object.keys(report.list_versions).join(', ');
  return [`${report.decision}: score ${report.risk_score}, lists ${lists || 'none'}`, ...found];
}

function risk({ risk_score: score }: Intent, grounds: IntentGrounds | undefined): readonly string[] {
  const { risk: scored } = grounds ?? {};
  if (scored === undefined) return [`score ${score}`];
  const factors = scored.factors.map(({ code, contribution, evidence }) => `${code} +${contribution}: ${evidence}`);
  return [`score ${scored.score}, ${scored.level}: ${scored.action}`, ...factors];
}

function policy({ policy: used }: Intent, grounds: IntentGrounds | undefined): readonly string[] {
  const { decision } = grounds ?? {};
  const which = `${used.name}, version ${used.version}`;
  if (decision === undefined) return [which];
  const trace = decision.trace.map(
    ({ rule, effect, matched, result }) => `${matched ? '✓' : '–'} ${rule}, ${spaced(effect)}: ${result}`,
  );
  return [`${which}: ${spaced(decision.decision)}, ${decision.reason}`, ...trace];
}

function approvals({ approvals: votes, approvals_required: required }: Intent): readonly string[] {
  if (required === 0 && votes.length === 0) return ['none needed'];
  const given = votes.filter(({ decision }) => decision === 'approve').length;
  const said = votes.map(({ by, decision, comment, reason }) => {
    const why = comment ?? reason;
    return `${by} ${decision === 'approve' ? 'approved' : 'rejected'} it${why === null ? '' : `: ${why}`}`;
  });
  return [`${given} of ${required}`, ...said];
}

function approvalState(intent: Intent): IntentStep['state'] {
  const { status, approvals_required: required, approvals: votes } = intent;
  if (status === 'pending_approval') return 'now';
  if (required === 0 && votes.length === 0) return 'none';
  if (endedBadly(intent) && reachedOf(intent) === order.indexOf('pending_approval')) return 'bad';
  return reachedOf(intent) > order.indexOf('pending_approval') ? 'done' : 'none';
}

/** Empty: all is well. `subStatuses`: what they mean. */
export function whyOfIntent(
  intent: Intent,
  grounds: IntentGrounds | undefined,
  subStatuses: Readonly<Record<string, string>>,
  faults: readonly SandboxFault[],
): string {
  const { status, sub_status: subStatus, provider_error: error, approvals: votes } = intent;
  const isWaiting = status === 'pending_approval';
  if (!endedBadly(intent) && !isWaiting && subStatus === null) return '';
  const thing =
    intent.message === null
      ? `The ${intent.kind.replace('_', ' ')} of ${intent.amount} ${intent.asset}`
      : 'The message';
  const outcome = endings.includes(status) ? wordOf(status) : isWaiting ? 'waits' : `is ${status}`;
  const meaning = (subStatuses[subStatus ?? ''] ?? '')
    .replace(/^(Denied|Failed|Approved, but)[:,]?\s*/, '')
    .replace(/[.]$/, '');
  const said = error?.message ?? meaning;
  const who = whoDecided(intent, grounds);
  const rejected = votes.find(({ decision }) => decision === 'reject');
  const armed = faults.filter(({ state }) => state !== 'over').map((fault) => faultInWords(fault));
  // A fault that is armed may be why it waits; of what a policy or a person decided it is not.
  const isCluster =
    ['AWAITING_QUORUM', 'PROVIDER_UNAVAILABLE', 'RETRYING'].includes(subStatus ?? '') || status === 'failed';
  const which = isCluster && armed.length > 0 ? `armed now: ${armed.join(' and ')}` : '';
  const what = `${thing} ${outcome}${said === '' || rejected ? '' : `: ${lowered(said.replace(/[.]$/, ''))}`}`;
  return `${[what, who, which, remedyOf(intent)].filter((words) => words !== '').join('; ')}.`;
}

function wordOf(status: string): string {
  const words: Readonly<Record<string, string>> = {
    denied: 'was denied',
    rejected: 'was rejected',
    cancelled: 'was cancelled',
  };
  return words[status] ?? (status === 'expired' ? 'has expired' : 'has failed');
}

function whoDecided(intent: Intent, grounds: IntentGrounds | undefined): string {
  const { status, sub_status: subStatus, approvals: votes, cancellation, approvals_required: required } = intent;
  const rejected = votes.find(({ decision }) => decision === 'reject');
  if (status === 'rejected' && rejected !== undefined) return `${rejected.by} said: ${rejected.reason ?? 'no'}`;
  if (status === 'cancelled')
    return `${cancellation?.by ?? 'its initiator'} did it${cancellation?.reason ? `: ${cancellation.reason}` : ''}`;
  if (status === 'pending_approval') return `${votes.length} of ${required} votes are in, and its initiator has none`;
  if (status !== 'denied') return '';
  if (subStatus === 'SCREENING_BLOCKED')
    return grounds?.report?.matches.map(({ list_name: list }) => `it is on the list ${list}`)[0] ?? '';
  const rules = grounds?.decision?.matched_rules ?? [];
  return `policy ${intent.policy.name}${rules.length === 0 ? ' has no rule that allows it' : `, rule ${rules.join(', ')}`}`;
}

function remedyOf({ status, sub_status: subStatus }: Intent): string {
  if (status === 'pending_approval') return 'approve it as another person';
  if (subStatus === 'SCREENING_BLOCKED') return 'send to another address';
  if (subStatus === 'POLICY_DENIED') return 'change the policy, or the transfer';
  if (subStatus === 'AWAITING_QUORUM') return 'start the nodes that are down: it is retried';
  if (subStatus === 'BELOW_MARKET_FEE') return 'replace it: intents.replace, with kind speed_up or cancel';
  if (subStatus === 'WALLET_NOT_ACTIVE') return 'unfreeze the wallet';
  if (status === 'failed' || status === 'expired' || status === 'rejected') return 'submit a new one';
  return '';
}

function spaced(word: string): string {
  return word.replaceAll('_', ' ');
}

function lowered(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text[0]!.toLowerCase() + text.slice(1) : text;
}
