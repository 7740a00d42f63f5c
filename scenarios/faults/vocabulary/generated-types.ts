/** Made from scenarios/faults/vocabulary/fault.ts by "npm run docs". Do not edit: see tools/docs/fault-types.ts. */

/** when it begins. `of`: frames to or from this process, or its calls; by default the target */
export interface Trigger {
  /** this long after the scenario began, or the fault was armed */
  after_ms?: number;
  /** when this step of the scenario begins */
  step?: string;
  /** at a frame of this kind */
  point?: 'call' | 'call_reply' | 'cluster_status' | 'deal_nonces' | 'nonces_dealt' | 'partial_request' | 'partial_reply' | 'vendor_settled' | 'vendor_noted' | 'dkg_open' | 'dkg_opened' | 'dkg_seal' | 'dkg_sealed' | 'dkg_verify' | 'dkg_verified' | 'dkg_confirm' | 'dkg_confirmed' | 'dkg_discard' | 'dkg_refused';
  /** before the frame or call leaves (it is then lost), or after; before by default */
  phase?: 'before' | 'after';
  /** at a call that a gateway or worker makes at this port, in a simulated world with the wallet API */
  port?: 'redis' | 'queue' | 'egress' | 'provider';
  /** of `port`: these calls alone, by the name that a trace shows: a Redis command or script (`store/commit.lua`), a queue (`webhooks`), a URL, a provider (`fireblocks`) */
  call?: string;
  /** node/1 (or node-1, or 1), node/*, coordinator, gateway, worker, redis, receiver; gateway/2, worker/2 where there are several (gateway/1 is gateway); of a further cluster cluster/2/node/1, cluster/2/node/*, cluster/2/coordinator, and the gateways’ links to it: cluster/2/gateway */
  of?: string;
  /** frames of this session alone */
  session?: string;
  /** the nth such frame, call or request; 1 by default */
  nth?: number;
}

/** What every fault has. */
export interface EveryFault {
  /** its name in reports; given if missing */
  id?: string;
  /** when it begins. `of`: frames to or from this process, or its calls; by default the target */
  at?: Trigger;
  /** of each trigger; 1 by default */
  probability?: number;
  /** how often it triggers, at most */
  count?: number;
}

/** the process ends at once, as by SIGKILL, and restarts */
export interface CrashFault extends EveryFault {
  fault: 'crash';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** null: it stays down until a restart */
  restart_after_ms?: number | null;
  /** its store is lost too; false by default */
  lose_state?: boolean;
}

/** the process stops running, as by SIGSTOP, and then continues */
export interface PauseFault extends EveryFault {
  fault: 'pause';
  /** how long */
  for_ms: number;
  target: string | string[];
}

/** every frame to and from it takes longer */
export interface SlowFault extends EveryFault {
  fault: 'slow';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** added to every frame to and from it */
  by_ms: number;
}

/** frames arrive later; order within a link is kept */
export interface DelayFault extends EveryFault {
  fault: 'delay';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** frames to the target, from it, or both (default) */
  direction?: 'in' | 'out' | 'both';
  /** always this much */
  by_ms?: number;
  /** at least */
  min_ms?: number;
  /** at most */
  max_ms?: number;
  /** between min_ms and max_ms; uniform by default */
  distribution?: 'uniform' | 'exponential';
}

/** frames are lost */
export interface DropFault extends EveryFault {
  fault: 'drop';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** frames to the target, from it, or both (default) */
  direction?: 'in' | 'out' | 'both';
}

/** frames arrive again; one copy by default */
export interface DuplicateFault extends EveryFault {
  fault: 'duplicate';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** frames to the target, from it, or both (default) */
  direction?: 'in' | 'out' | 'both';
  copies?: number;
}

/** frames overtake each other */
export interface ReorderFault extends EveryFault {
  fault: 'reorder';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** frames to the target, from it, or both (default) */
  direction?: 'in' | 'out' | 'both';
  /** each frame is delayed by up to this time */
  within_ms: number;
}

/** no frame passes; frames wait; the link closes when heartbeats are missing for too long */
export interface PartitionFault extends EveryFault {
  fault: 'partition';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** frames to the target, from it, or both (default) */
  direction?: 'in' | 'out' | 'both';
}

/** frames wait until the fault ends, and then arrive in order; heartbeats pass */
export interface HoldFault extends EveryFault {
  fault: 'hold';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** frames to the target, from it, or both (default) */
  direction?: 'in' | 'out' | 'both';
}

/** the peer vanishes without closing its link: frames are lost until missing heartbeats reveal it */
export interface HalfOpenFault extends EveryFault {
  fault: 'half_open';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** a byte of the frame is changed: the receiver closes the link */
export interface CorruptFault extends EveryFault {
  fault: 'corrupt';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** frames to the target, from it, or both (default) */
  direction?: 'in' | 'out' | 'both';
}

/** the frame is cut in two: the receiver closes the link */
export interface TruncateFault extends EveryFault {
  fault: 'truncate';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** frames to the target, from it, or both (default) */
  direction?: 'in' | 'out' | 'both';
}

/** the dealer seals wrong shares, for some recipients or all */
export interface BadShareFault extends EveryFault {
  fault: 'bad_share';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  for?: number[];
  /** another scalar (default), the scalar zero, a box sealed to another key, a box cut short */
  how?: 'random' | 'zero' | 'unopenable' | 'malformed';
}

/** the dealer commits to another polynomial than it deals from, or to none */
export interface BadCommitmentFault extends EveryFault {
  fault: 'bad_commitment';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** another last coefficient (default), one commitment fewer, one more, an identity constant term, a point cut short */
  how?: 'other' | 'too_few' | 'too_many' | 'identity' | 'malformed';
}

/** the dealer’s proof of possession does not verify */
export interface BadProofFault extends EveryFault {
  fault: 'bad_proof';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** its partial signatures are wrong */
export interface BadPartialFault extends EveryFault {
  fault: 'bad_partial';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** the dealer shows another opening at a second request */
export interface EquivocateFault extends EveryFault {
  fault: 'equivocate';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** it does not answer */
export interface WithholdFault extends EveryFault {
  fault: 'withhold';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** it repeats a frame of an earlier attempt or session */
export interface StaleReplayFault extends EveryFault {
  fault: 'stale_replay';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** it complains about an honest dealer, or reports another key */
export interface FalseReportFault extends EveryFault {
  fault: 'false_report';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  about?: number;
}

/** it refuses a request that it could serve */
export interface FalseRefusalFault extends EveryFault {
  fault: 'false_refusal';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** the code of its refusal; it refuses the requests that allow this code */
  code: 'NONCE_UNKNOWN' | 'KEY_UNKNOWN' | 'REQUEST_INVALID' | 'ORDER_MISSING' | 'ORDER_INVALID' | 'ORDER_EXPIRED' | 'WITNESS_MISSING' | 'KEYSTORE_MISMATCH' | 'INTENT_MESSAGE_CHANGED' | 'HSM_UNCONFIGURED' | 'HSM_SESSION_LOST' | 'HSM_PIN_REFUSED' | 'HSM_TIMEOUT' | 'HSM_TOKEN_ABSENT' | 'HSM_FAILED' | 'VENDOR_UNCONFIGURED' | 'VENDOR_UNAVAILABLE' | 'VENDOR_REJECTED' | 'VENDOR_CANCELLED' | 'VENDOR_EXPIRED' | 'VENDOR_SIGNATURE_INVALID' | 'PARAMETERS_CHANGED' | 'STALE_ATTEMPT' | 'NOT_OPEN' | 'ATTEMPT_DISCARDED' | 'ATTEMPT_BROKEN' | 'ALREADY_FINAL' | 'OPENING_INVALID' | 'NOT_FINISHED' | 'FINISH_FAILED' | 'SIGNATURE_INVALID' | 'TRANSCRIPT_MISMATCH' | 'CLIENT_DEALERS_NOT_ALLOWED' | 'RESULT_SIGNED';
}

/** it confirms a key before the request */
export interface EarlyConfirmFault extends EveryFault {
  fault: 'early_confirm';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** the nonces that it makes ahead are unusable */
export interface BadNoncesFault extends EveryFault {
  fault: 'bad_nonces';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** the identity or zero; no point of the group or no scalar; the first one in place of the others; cut short */
  how: 'identity' | 'invalid' | 'duplicate' | 'malformed';
}

/** one field of the node’s answers is altered; frames without the field do not change */
export interface AlteredAnswerFault extends EveryFault {
  fault: 'altered_answer';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** its name in the proto file; `signers.0.node_id` for a nested field */
  field: string;
  /** a number, text, bytes, list or message: `zero`, one `above` or `below`, an`other`, `empty`, `shorter` or `longer` by one, `huge`, its first element `twice`, `reversed`, `missing` */
  change: 'zero' | 'above' | 'below' | 'other' | 'empty' | 'shorter' | 'longer' | 'huge' | 'twice' | 'reversed' | 'missing';
}

/** the coordinator asks some signers to sign a message that the client did not give */
export interface OtherMessageFault extends EveryFault {
  fault: 'other_message';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
  /** the nodes that receive the lie; all by default */
  for?: number[];
}

/** the coordinator asks for partial signatures that no gateway ordered */
export interface FalseOrderFault extends EveryFault {
  fault: 'false_order';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
  /** the nodes that receive the lie; all by default */
  for?: number[];
  /** without an order; with an invented order (default); with an order of an earlier session; with the true order and message, but without the witness’s order */
  how?: 'none' | 'invented' | 'earlier' | 'unwitnessed';
}

/** the coordinator asks for a mock ECDSA partial under a key that signs BIP-340: its answer would give the key share */
export interface OtherSchemeFault extends EveryFault {
  fault: 'other_scheme';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
  /** the nodes that receive the lie; all by default */
  for?: number[];
  /** after the ordered request (default), or in its place */
  how?: 'behind' | 'instead';
}

/** the coordinator shows signers different lists of signers (FROST) */
export interface OtherSignersFault extends EveryFault {
  fault: 'other_signers';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
  /** the nodes that receive the lie; all by default */
  for?: number[];
  /** other commitments of another signer (default), other commitments of the receiving node, fewer signers than the threshold, signers out of order */
  how?: 'commitments' | 'own' | 'fewer' | 'unsorted';
}

/** the coordinator asks for a second partial signature with the same nonce, in another list of signers */
export interface ReuseNonceFault extends EveryFault {
  fault: 'reuse_nonce';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
  /** the nodes that receive the lie; all by default */
  for?: number[];
}

/** the coordinator relays openings with parts that it made up */
export interface SubstituteOpeningFault extends EveryFault {
  fault: 'substitute_opening';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
  /** the nodes that receive the lie; all by default */
  for?: number[];
  /** the sealing keys of recipients (default), or the commitments of dealers */
  how?: 'sealing_key' | 'commitments';
}

/** the coordinator supplies the shares of every dealer itself, as a client may, to learn the key */
export interface SupplyDealersFault extends EveryFault {
  fault: 'supply_dealers';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
  /** the nodes that receive the lie; all by default */
  for?: number[];
}

/** the coordinator confirms a key to some nodes with different results */
export interface SplitConfirmFault extends EveryFault {
  fault: 'split_confirm';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
  /** the nodes that receive the lie; all by default */
  for?: number[];
}

/** one field of the coordinator’s requests to a node is altered; frames without the field do not change */
export interface AlteredRequestFault extends EveryFault {
  fault: 'altered_request';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
  /** the nodes that receive the lie; all by default */
  for?: number[];
  /** its name in the proto file; `signers.0.node_id` for a nested field */
  field: string;
  /** a number, text, bytes, list or message: `zero`, one `above` or `below`, an`other`, `empty`, `shorter` or `longer` by one, `huge`, its first element `twice`, `reversed`, `missing` */
  change: 'zero' | 'above' | 'below' | 'other' | 'empty' | 'shorter' | 'longer' | 'huge' | 'twice' | 'reversed' | 'missing';
}

/** a second process with the node’s identity takes over its link, and then stays silent */
export interface SecondProcessFault extends EveryFault {
  fault: 'second_process';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** another coordinator of the cluster takes over the gateway; the first one hears the nodes, and continues what it had begun, until the fault ends */
export interface SecondCoordinatorFault extends EveryFault {
  fault: 'second_coordinator';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
}

/** its clock is wrong during the fault */
export interface ClockSkewFault extends EveryFault {
  fault: 'clock_skew';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  by_ms: number;
}

/** its clock jumps, once and permanently */
export interface ClockJumpFault extends EveryFault {
  fault: 'clock_jump';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  by_ms: number;
}

/** a write is lost before it is stored, and gets no answer; for a gateway or worker any command to Redis, or with at.port any call of that port */
export interface StoreLostFault extends EveryFault {
  fault: 'store_lost';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** a write, or such a call, takes effect, and its answer is lost */
export interface StoreUnansweredFault extends EveryFault {
  fault: 'store_unanswered';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** they take longer */
export interface StoreSlowFault extends EveryFault {
  fault: 'store_slow';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** added to every write */
  by_ms: number;
}

/** reads and writes fail; such a call is refused, without effect */
export interface StoreFailingFault extends EveryFault {
  fault: 'store_failing';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
}

/** Redis returns an altered session or key */
export interface StoreTamperedFault extends EveryFault {
  fault: 'store_tampered';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
}

/** the tenant has reached its storage quota: clients cannot begin a session */
export interface StoreFullFault extends EveryFault {
  fault: 'store_full';
  /** how long it holds */
  for_ms?: number;
  target: 'coordinator';
}

/** simulated custodians, and the venue, answer late, twice or never */
export interface ProviderFailsFault extends EveryFault {
  fault: 'provider_fails';
  /** how long it holds */
  for_ms?: number;
  /** late: it answers by_ms later; twice: each request reaches it twice; never: it gets requests and does not answer; lost: it gets no request; refuses: it answers that it is unavailable */
  by: 'late' | 'twice' | 'never' | 'lost' | 'refuses';
  /** only this one; all by default */
  provider?: 'fireblocks' | 'bitgo' | 'copper' | 'sandbox';
  /** for late: the delay; 5,000 by default */
  by_ms?: number;
}

/** the node’s PKCS#11 token does not sign */
export interface HsmFailsFault extends EveryFault {
  fault: 'hsm_fails';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** how: token_absent by default */
  by?: 'session_lost' | 'pin_refused' | 'timeout' | 'token_absent' | 'failed';
}

/** the simulated vendor of MPC_VENDOR keys behaves badly */
export interface VendorFailsFault extends EveryFault {
  fault: 'vendor_fails';
  /** how long it holds */
  for_ms?: number;
  /** orders made during the fault take longer, are rejected, are never decided, or get a wrong signature (lies); callbacks arrive twice, never, or an old one last; or every request fails */
  by: 'delay' | 'reject' | 'never_answers' | 'answers_twice' | 'lies' | 'callback_lost' | 'callback_out_of_order' | 'unavailable';
  /** for delay: the additional time; 60,000 by default */
  by_ms?: number;
}

/** the process ends and restarts with its store as it was when the fault was armed; the coordinator’s store is Redis */
export interface RollbackFault extends EveryFault {
  fault: 'rollback';
  /** how long it holds */
  for_ms?: number;
  target: string | string[];
  /** time until it restarts; 100 by default */
  restart_after_ms?: number;
}

/** Redis is unreachable, and comes back with its data */
export interface RedisGoneFault extends EveryFault {
  fault: 'redis_gone';
  /** how long */
  for_ms: number;
}

/** the webhook worker stops running for that time */
export interface WorkerStalledFault extends EveryFault {
  fault: 'worker_stalled';
  /** how long */
  for_ms: number;
}

/** the queue holds a job twice */
export interface DoubleDeliveryFault extends EveryFault {
  fault: 'double_delivery';
  /** how long it holds */
  for_ms?: number;
}

/** the queue holds a malformed job */
export interface PoisonJobFault extends EveryFault {
  fault: 'poison_job';
  /** how long it holds */
  for_ms?: number;
}

/** the webhook receiver answers with this status */
export interface ReceiverStatusFault extends EveryFault {
  fault: 'receiver_status';
  /** how long it holds */
  for_ms?: number;
  status: number;
}

/** the webhook receiver is slow */
export interface ReceiverSlowFault extends EveryFault {
  fault: 'receiver_slow';
  /** how long it holds */
  for_ms?: number;
  /** before it answers */
  by_ms: number;
}

/** the webhook receiver resets the connection */
export interface ReceiverResetFault extends EveryFault {
  fault: 'receiver_reset';
  /** how long it holds */
  for_ms?: number;
}

/** a request takes effect, and its connection is cut before the answer */
export interface AnswerLostFault extends EveryFault {
  fault: 'answer_lost';
  /** how long it holds */
  for_ms?: number;
  /** only HTTP requests of this route, e.g. `POST /v1/wallets/:id/transaction-intents`; without a method, of each */
  route?: string;
  /** only gRPC calls of this method, e.g. `InitiateSigning` */
  rpc?: string;
}

/** answers come later */
export interface AnswerSlowFault extends EveryFault {
  fault: 'answer_slow';
  /** how long it holds */
  for_ms?: number;
  /** only HTTP requests of this route, e.g. `POST /v1/wallets/:id/transaction-intents`; without a method, of each */
  route?: string;
  /** only gRPC calls of this method, e.g. `InitiateSigning` */
  rpc?: string;
  /** before it is answered */
  by_ms: number;
}

/** a request is refused with this status, without effect */
export interface AnswerStatusFault extends EveryFault {
  fault: 'answer_status';
  /** how long it holds */
  for_ms?: number;
  /** only HTTP requests of this route, e.g. `POST /v1/wallets/:id/transaction-intents`; without a method, of each */
  route?: string;
  /** only gRPC calls of this method, e.g. `InitiateSigning` */
  rpc?: string;
  /** on gRPC the status that the service gives with it: 400, 415 and 421 INVALID_ARGUMENT, 401 UNAUTHENTICATED, 403 PERMISSION_DENIED, 404 NOT_FOUND, 405 and 501 UNIMPLEMENTED, 408 and 504 DEADLINE_EXCEEDED, 409 ABORTED, 422 FAILED_PRECONDITION, 413, 429 and 431 RESOURCE_EXHAUSTED, 500 INTERNAL, 502 and 503 UNAVAILABLE; any other UNKNOWN */
  status: number;
  /** the header Retry-After */
  retry_after_s?: number;
}

/** a request takes effect, and its connection is reset in the middle of the answer’s body */
export interface AnswerCutFault extends EveryFault {
  fault: 'answer_cut';
  /** how long it holds */
  for_ms?: number;
  /** only HTTP requests of this route, e.g. `POST /v1/wallets/:id/transaction-intents`; without a method, of each */
  route?: string;
  /** only gRPC calls of this method, e.g. `InitiateSigning` */
  rpc?: string;
}

/** signing sessions begin with a mock directive */
export interface ForceReceiptFault extends EveryFault {
  fault: 'force_receipt';
  /** how long it holds */
  for_ms?: number;
  /** the receipt state */
  state: 'DENIED' | 'REVOKED' | 'EXPIRED' | 'BACKEND_FAILED';
}

/** The faults by their kinds. */
export interface FaultKinds {
  crash: CrashFault;
  pause: PauseFault;
  slow: SlowFault;
  delay: DelayFault;
  drop: DropFault;
  duplicate: DuplicateFault;
  reorder: ReorderFault;
  partition: PartitionFault;
  hold: HoldFault;
  half_open: HalfOpenFault;
  corrupt: CorruptFault;
  truncate: TruncateFault;
  bad_share: BadShareFault;
  bad_commitment: BadCommitmentFault;
  bad_proof: BadProofFault;
  bad_partial: BadPartialFault;
  equivocate: EquivocateFault;
  withhold: WithholdFault;
  stale_replay: StaleReplayFault;
  false_report: FalseReportFault;
  false_refusal: FalseRefusalFault;
  early_confirm: EarlyConfirmFault;
  bad_nonces: BadNoncesFault;
  altered_answer: AlteredAnswerFault;
  other_message: OtherMessageFault;
  false_order: FalseOrderFault;
  other_scheme: OtherSchemeFault;
  other_signers: OtherSignersFault;
  reuse_nonce: ReuseNonceFault;
  substitute_opening: SubstituteOpeningFault;
  supply_dealers: SupplyDealersFault;
  split_confirm: SplitConfirmFault;
  altered_request: AlteredRequestFault;
  second_process: SecondProcessFault;
  second_coordinator: SecondCoordinatorFault;
  clock_skew: ClockSkewFault;
  clock_jump: ClockJumpFault;
  store_lost: StoreLostFault;
  store_unanswered: StoreUnansweredFault;
  store_slow: StoreSlowFault;
  store_failing: StoreFailingFault;
  store_tampered: StoreTamperedFault;
  store_full: StoreFullFault;
  provider_fails: ProviderFailsFault;
  hsm_fails: HsmFailsFault;
  vendor_fails: VendorFailsFault;
  rollback: RollbackFault;
  redis_gone: RedisGoneFault;
  worker_stalled: WorkerStalledFault;
  double_delivery: DoubleDeliveryFault;
  poison_job: PoisonJobFault;
  receiver_status: ReceiverStatusFault;
  receiver_slow: ReceiverSlowFault;
  receiver_reset: ReceiverResetFault;
  answer_lost: AnswerLostFault;
  answer_slow: AnswerSlowFault;
  answer_status: AnswerStatusFault;
  answer_cut: AnswerCutFault;
  force_receipt: ForceReceiptFault;
}

export type FaultKind = keyof FaultKinds;
export type FaultOf<K extends FaultKind> = FaultKinds[K];
/** docs/faults.md explains them. */
export type Fault = FaultKinds[FaultKind];
