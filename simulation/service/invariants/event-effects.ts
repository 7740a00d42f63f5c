/**
 * The effect of each type of event on its resource, written from docs/wallet-api.md: which fields a change may touch, the step of
 * the version, how history and votes grow, and which fields are known in each state. So a change that touches a field of another
 * change, or forgets its own, contradicts its event, whatever route or worker made it.
 */
import type { ToldEvent } from './documented-ledger.ts';
import { found } from './finding.ts';

/** Fields that any change may touch. Balances move without a version; a deposit, a withdrawal and a correction are of one event. */
const general = ['version', 'updated_at', 'assets', 'deposit', 'withdrawal', 'correction'] as const;
const moved = ['status', 'sub_status', 'status_history'] as const;
const atProvider = ['provider_tx_id', 'provider_status', 'provider_details', 'provider_error', 'fee'] as const;
const seen = ['sources', 'last_job_id', 'times_seen', 'last_seen_at'] as const;

/** By type of event, without those that only create. */
const touches: Readonly<Record<string, readonly string[]>> = {
  'provider_connection.updated': [
    'name',
    'metadata',
    'status',
    'capabilities',
    'credential_fingerprint',
    'last_synced_at',
  ],
  'provider_connection.tested': ['status', 'last_synced_at'],
  'provider_connection.disconnected': ['status', 'credential_fingerprint', 'capabilities'],
  'wallet.updated': ['name', 'policy', 'approval_mode', 'signing_api', 'external_id', 'metadata'],
  'wallet.frozen': ['status'],
  'wallet.unfrozen': ['status'],
  'wallet.archived': ['status', 'archived_at', 'archive_reason'],
  'wallet.deposit_received': [],
  'wallet.deposit_reverted': [],
  'wallet.deposit_finalized': [],
  'wallet.allowance_used': [],
  'wallet.balance_corrected': [],
  'transaction_intent.screening': moved,
  'transaction_intent.pending_approval': moved,
  'transaction_intent.approved': [...moved, 'expires_at'],
  'transaction_intent.denied': moved,
  'transaction_intent.approval_recorded': [...moved, 'approvals', 'expires_at'],
  'transaction_intent.rejected': moved,
  'transaction_intent.expired': moved,
  'transaction_intent.cancelled': [...moved, 'cancellation'],
  'transaction_intent.signing': [...moved, ...atProvider],
  'transaction_intent.broadcasting': [...moved, ...atProvider],
  'transaction_intent.confirming': [...moved, ...atProvider],
  'transaction_intent.completed': [...moved, ...atProvider, 'message'],
  'transaction_intent.reorged': [...moved, ...atProvider],
  'transaction_intent.failed': [...moved, ...atProvider, 'gap_transaction'],
  'transaction_intent.updated': ['sub_status', ...atProvider, 'gap_transaction', 'replaced_by'],
  'policy.updated': ['mode', 'rules', 'warnings', 'enforced_version'],
  'compliance.list.updated': ['entry_count'],
  'risk.rule.updated': ['when', 'points', 'action', 'priority', 'mode', 'warnings'],
  'risk.rule.deleted': [],
  'tenant.frozen': ['status', 'changed_by', 'changed_at', 'reason'],
  'tenant.unfrozen': ['status', 'changed_by', 'changed_at', 'reason'],
  'change_control.updated': ['quorum', 'approvers', 'timeout_s'],
  'change_proposal.updated': ['approvals'],
  'change_proposal.applied': ['status', 'approvals'],
  'change_proposal.rejected': ['status', 'approvals'],
  'change_proposal.cancelled': ['status'],
  'change_proposal.expired': ['status'],
  'access_token.revoked': ['status', 'revoked_at'],
  'webhook.updated': ['url', 'events', 'description', 'status', 'suspended_at'],
  'webhook.deleted': [],
  'vault.archived': ['status', 'archived_at', 'archive_reason', 'key_count'],
  'vault.key_deleted': ['status', 'deleted_at'],
  'module_access.granted': ['status', 'decided_at', 'note'],
  'treasury.strategy.archived': ['status', 'executing_plan_id', 'last_executed_at'],
  'treasury.plan.pending_approval': ['status'],
  'treasury.plan.executing': ['status', 'executed_by'],
  'treasury.plan.updated': ['trades'],
  'treasury.plan.completed': ['status', 'trades'],
  'treasury.plan.failed': ['status', 'trades'],
  'treasury.plan.cancelled': ['status'],
  'recon.job.started': ['status', 'progress', 'started_at'],
  'recon.job.progressed': ['progress'],
  'recon.job.completed': ['status', 'progress', 'finished_at'],
  'recon.job.failed': ['status', 'progress', 'finished_at', 'error'],
  'recon.job.cancelled': ['status', 'progress', 'finished_at'],
  'recon.exception.resolved': ['status', 'resolution', ...seen],
  'token.deployed': ['status', 'contract'],
  'token.failed': ['status', 'error'],
  'token.frozen': ['status', 'freeze_reason'],
  'token.unfrozen': ['status', 'freeze_reason'],
  'token.order.pending_approval': [...moved, 'expires_at'],
  'token.order.approval_recorded': [...moved, 'approvals', 'expires_at', 'error'],
  'token.order.reserve_check': [...moved, 'expires_at'],
  'token.order.processing': [...moved, 'reserve_check'],
  'token.order.completed': moved,
  'token.order.rejected': [...moved, 'error', 'expires_at', 'reserve_check'],
  'token.order.failed': [...moved, 'error'],
};

/** Each version of these has its event, so that their versions rise by one at most from event to event. */
const stepped = new Set([
  ...['wallet', 'transaction_intent', 'webhook', 'policy', 'provider_connection', 'token', 'token_order'],
  ...['treasury_plan', 'risk_rule', 'compliance_list', 'module_access_request'],
]);

// biome-ignore lint/suspicious/noExplicitAny: resources of every type, read by their documented fields.
type Shown = any;

/** Throws a Finding. */
export function checkEffects(events: readonly ToldEvent[]): void {
  const last = new Map<string, { readonly shown: Shown; readonly version: number }>();
  for (const event of events) {
    const { type, sequence, resource, data } = event;
    const shown: Shown = data.object;
    // A ping shows the webhook as it was read, and is no change of it.
    if (shown === null || type === 'webhook.ping') continue;
    const about = `event ${sequence} ${type} of ${resource.id}`;
    if (typeof shown.version === 'number' && shown.version !== resource.version)
      found('events-complete', `${about} is of version ${resource.version}, and shows ${shown.version}`);
    checkKnown(about, resource.type, shown);
    const name = `${resource.type} ${resource.id}`;
    const before = last.get(name);
    last.set(name, { shown, version: resource.version });
    if (before === undefined) continue;
    const step = resource.version - before.version;
    if (stepped.has(resource.type) && (step < 0 || step > 1))
      found('events-complete', `${about} is of version ${resource.version}, after ${before.version}`);
    checkTouched(about, type, before.shown, shown);
    checkGrown(about, before.shown, shown);
  }
}

function checkTouched(about: string, type: string, before: Shown, shown: Shown): void {
  const allowed = touches[type];
  if (allowed === undefined) return;
  for (const field of new Set([...Object.keys(before), ...Object.keys(shown)])) {
    if (allowed.includes(field) || general.includes(field as never)) continue;
    const [was, is] = [before[field], shown[field]].map((value) => JSON.stringify(value));
    if (was !== is) found('events-complete', `${about} changes ${field} from ${was} to ${is}`);
  }
}

/** "`status_history` lists also the states that an intent passes at once"; a vote that was given stays. */
function checkGrown(about: string, before: Shown, shown: Shown): void {
  const [was, is] = [before.status_history, shown.status_history];
  if (Array.isArray(was) && Array.isArray(is)) {
    const entered = is.slice(was.length);
    const isKept = JSON.stringify(is.slice(0, was.length)) === JSON.stringify(was);
    const isOwn = before.status === shown.status ? entered.length === 0 : entered.at(-1)?.status === shown.status;
    if (!isKept || !isOwn) found('events-complete', `${about} makes the history ${texts(was)} to ${texts(is)}`);
  }
  const votes = JSON.stringify(shown.approvals?.slice(0, before.approvals.length));
  if (Array.isArray(before.approvals) && votes !== JSON.stringify(before.approvals))
    found('events-complete', `${about} changes the votes ${JSON.stringify(before.approvals)} to ${votes}`);
}

function texts(history: readonly { readonly status: string }[]): string {
  return history.map(({ status }) => status).join('>');
}

/** What is known in each state: a field that is there exactly then. */
interface Known {
  readonly field: string;
  readonly when: (shown: Shown) => boolean;
}

const is =
  (...statuses: readonly string[]) =>
  ({ status }: Shown) =>
    statuses.includes(status);
const opened = ['created', 'screening', 'pending_approval', 'denied', 'rejected', 'expired', 'cancelled'] as const;
const known: Readonly<Record<string, readonly Known[]>> = {
  wallet: [{ field: 'archived_at', when: is('archived') }],
  transaction_intent: [{ field: 'cancellation', when: is('cancelled') }],
  token: [
    { field: 'contract', when: is('active', 'frozen') },
    { field: 'error', when: is('failed') },
  ],
  token_order: [{ field: 'expires_at', when: is('pending_approval') }],
  recon_job: [{ field: 'finished_at', when: is('completed', 'failed', 'cancelled') }],
  recon_exception: [{ field: 'resolution', when: is('resolved') }],
  treasury_plan: [{ field: 'executed_by', when: is('executing', 'completed', 'failed') }],
  vault: [{ field: 'archived_at', when: is('archived') }],
  vault_key: [{ field: 'deleted_at', when: is('deleted') }],
  vault_signature: [{ field: 'signing_session_id', when: ({ status }) => status !== 'denied' }],
  webhook: [{ field: 'suspended_at', when: is('suspended') }],
  module_access_request: [{ field: 'decided_at', when: ({ status }) => status !== 'pending' }],
};

/** Fields that are known then, or unknown then; nothing is said about the other states. */
interface Partly {
  readonly statuses: readonly string[];
  readonly known?: readonly string[];
  readonly unknown?: readonly string[];
}

const partly: Readonly<Record<string, readonly Partly[]>> = {
  wallet: [{ statuses: ['active', 'frozen'], unknown: ['archive_reason'] }],
  transaction_intent: [
    {
      statuses: opened,
      unknown: ['provider_tx_id', 'provider_status', 'provider_details', 'provider_error', 'gap_transaction'],
    },
    { statuses: ['approved'], unknown: ['provider_tx_id', 'provider_details'] },
    { statuses: ['pending_approval', 'denied', 'failed'], known: ['sub_status'] },
    { statuses: ['created', 'screening', 'cancelled', 'expired'], unknown: ['sub_status'] },
    { statuses: ['broadcasting', 'confirming', 'completed'], known: ['provider_status'] },
    { statuses: ['broadcasting', 'confirming'], known: ['provider_tx_id'], unknown: ['message'] },
    { statuses: ['completed'], unknown: ['provider_error'] },
    { statuses: ['failed'], known: ['provider_error'] },
  ],
  token: [{ statuses: ['deploying', 'active', 'failed'], unknown: ['freeze_reason'] }],
  token_order: [
    { statuses: ['created', 'pending_approval', 'reserve_check', 'processing', 'completed'], unknown: ['error'] },
    { statuses: ['created', 'pending_approval', 'reserve_check'], unknown: ['reserve_check'] },
    { statuses: ['processing', 'completed'], known: ['reserve_check'], unknown: ['sub_status'] },
    { statuses: ['pending_approval', 'rejected', 'failed'], known: ['sub_status'] },
  ],
  recon_job: [
    { statuses: ['queued'], unknown: ['started_at'] },
    { statuses: ['running', 'completed'], known: ['started_at'], unknown: ['error'] },
  ],
};

function checkKnown(about: string, type: string, shown: Shown): void {
  const wrong = (field: string) =>
    found('events-complete', `${about}, ${shown.status}, shows ${field} ${JSON.stringify(shown[field])}`);
  for (const { field, when } of known[type] ?? []) {
    if (field in shown && (shown[field] !== null) !== when(shown)) wrong(field);
  }
  for (const { statuses, known: due = [], unknown = [] } of partly[type] ?? []) {
    if (!statuses.includes(shown.status)) continue;
    for (const field of due) if (shown[field] === null) wrong(field);
    for (const field of unknown) if ((shown[field] ?? null) !== null) wrong(field);
  }
  if (type === 'transaction_intent') {
    checkFee(about, shown);
    if (!isMadeWhenDone(shown)) wrong(shown.message === null ? 'provider_tx_id' : 'message');
  }
  if (type === 'policy' && shown.mode === 'enforce' && shown.enforced_version !== shown.version)
    found('events-complete', `${about} enforces ${shown.enforced_version}, not its version ${shown.version}`);
}

/** A completed transfer names its transaction; a message has its signature when it is completed, and not before. */
function isMadeWhenDone({ status, message, provider_tx_id: txId }: Shown): boolean {
  const isDone = status === 'completed';
  return message === null ? !isDone || txId !== null : txId === null && (message.signature !== null) === isDone;
}

/** A fee is paid at the end, by what the chain has taken. */
function checkFee(about: string, { status, fee, kind }: Shown): void {
  const isOver = status === 'completed' || status === 'failed';
  if (!isOver && opened.includes(status) && fee.paid !== null)
    found('events-complete', `${about}, ${status}, has paid ${fee.paid}`);
  if (status === 'completed' && kind === 'transfer' && fee.paid === null)
    found('events-complete', `${about} is completed, and shows no fee`);
}
