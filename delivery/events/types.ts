/**
 * The registry of event types: what can be read at GET /v1/events and sent to webhooks. The documents' table is made
 * from it. A type is `<resource>.<what happened>`.
 */
/** Every event type, with one sentence, in the order that the documents show. */
export const eventTypes: Readonly<Record<string, string>> = {
  'provider_connection.created': 'A provider was connected.',
  'provider_connection.updated': 'Name, metadata or credentials of a connection changed.',
  'provider_connection.tested': 'The credentials of a connection were tried with its provider.',
  'provider_connection.disconnected': 'A connection was ended.',
  'wallet.created': 'A wallet was made.',
  'wallet.updated': 'Name, policy, metadata or modes of a wallet changed.',
  'wallet.frozen': 'A wallet takes no new intents for now.',
  'wallet.unfrozen': 'A frozen wallet takes intents again.',
  'wallet.archived': 'A wallet was archived; this is final.',
  'wallet.deposit_received': 'A wallet received funds.',
  'transaction_intent.created': 'An intent was submitted.',
  'transaction_intent.screening': 'Compliance, risk and policy evaluate it.',
  'transaction_intent.pending_approval': 'The policy asks for approvals.',
  'transaction_intent.approved': 'It may be signed: by policy, or by its approvers.',
  'transaction_intent.signing': 'The provider is signing it.',
  'transaction_intent.broadcasting': 'It is signed and is being sent to the network.',
  'transaction_intent.confirming': 'The network has it.',
  'transaction_intent.completed': 'It is final, and the balances have moved.',
  'transaction_intent.denied': 'Policy or compliance said no.',
  'transaction_intent.rejected': 'An approver said no.',
  'transaction_intent.expired': 'No decision came in time.',
  'transaction_intent.cancelled': 'It was called off.',
  'transaction_intent.failed': 'The provider or the network refused it for good.',
  'transaction_intent.approval_recorded': 'An approver voted.',
  'transaction_intent.updated': 'Its status stayed, and `sub_status` or what the provider says of it changed.',
  'signing.session.accepted': 'A signature was asked for, and its session is open.',
  'signing.session.pending': 'A signature was asked for and waits for a human.',
  'signing.session.resumed': 'A paused signing session continues.',
  'signing.session.completed': 'The signature is complete.',
  'signing.session.failed': 'No quorum signed in time; the session can be resumed.',
  'signing.session.denied': 'A mock directive denied the signature.',
  'signing.session.expired': 'The lifetime of a signing session is over.',
  'signing.session.revoked':
    'A signing session was ended: its wallet was archived, or another session took its intent.',
  'dkg.session.accepted': 'The making of a key has begun.',
  'dkg.session.resumed': 'A paused key generation continues.',
  'dkg.session.completed': 'A key is made: every node holds its share.',
  'dkg.session.failed':
    'The making of a key has paused; `culprits` names the nodes to blame, if any, `stalled_by` those that stopped it without proof of a fault.',
  'dkg.session.expired': 'The lifetime of a DKG session is over.',
  'policy.created': 'A policy was made, with its first version.',
  'policy.updated': 'A policy has a new version.',
  'compliance.screening.completed': 'A screening has its decision.',
  'compliance.list.created': 'A list of addresses or names was made.',
  'compliance.list.updated': 'A list has a new version.',
  'risk.rule.created': 'A risk rule was made.',
  'risk.rule.updated': 'A risk rule changed.',
  'risk.rule.deleted': 'A risk rule was removed.',
  'module_access.requested': 'A tenant asked for access to a module.',
  'module_access.granted': 'Access to a module was granted.',
  'module_access.denied': 'The operator denied access to a module, or took it back.',
  'treasury.strategy.created': 'A treasury strategy was made.',
  'treasury.strategy.updated': 'A treasury strategy has a new version.',
  'treasury.strategy.archived': 'A treasury strategy was ended.',
  'treasury.plan.proposed': 'A plan was made.',
  'treasury.plan.pending_approval': 'A plan waits for another person to have it executed.',
  'treasury.plan.executing': 'A plan is being executed.',
  'treasury.plan.updated': 'A trade of a plan went on, or waits for something else.',
  'treasury.plan.completed': 'All trades of a plan are done.',
  'treasury.plan.failed': 'All trades of a plan are over, and one at least has failed.',
  'treasury.plan.cancelled': 'A plan was called off.',
  'webhook.created': 'A webhook was registered.',
  'webhook.updated': 'Address, events, status or secret of a webhook changed.',
  'webhook.deleted': 'A webhook was removed.',
  'webhook.ping': 'A client requested a test delivery.',
  'webhook.suspended': 'A webhook failed for too long and gets no more deliveries.',
};

/** An exact type, or all that begin alike: `wallet.*`. What no event could ever match is no filter. */
export function isEventFilter(text: string): boolean {
  if (Object.hasOwn(eventTypes, text)) return true;
  const beginning = text.slice(0, -1);
  return text.endsWith('.*') && Object.keys(eventTypes).some((type) => type.startsWith(beginning));
}
