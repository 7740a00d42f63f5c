/**
 * Steps of the wallet API in scenario files: any of its calls, wallets and transfers in one line, votes, webhooks and the answers
 * of their receivers. The schemas of the routes (generated-operations.ts) check bodies and queries, and the shapes of answers
 * check references (`$pay.id`).
 */
import Type, { type Static } from 'typebox';
import { Closed, OneOf } from '../faults/vocabulary/schema-kit.ts';
import { operations } from './generated-operations.ts';

const Name = (description: string) => Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$', description });
const Ms = (description: string) => Type.Integer({ minimum: 0, maximum: 604_800_000, description });

/** The principal that a step without `by` acts as. */
export const owner = 'owner';

export const operationNames = Object.keys(operations).sort();

const Principal = Type.String({
  pattern: '^[a-z][a-z0-9_-]{0,31}(@[a-z][a-z0-9_-]{0,31})?$',
  description: 'who calls: each name is a token of its own, `name@tenant` one of another tenant; owner by default',
});
const Fields = (description: string) =>
  Type.Record(Type.String({ pattern: '^[A-Za-z0-9_.-]{1,200}$' }), Type.Unknown(), { description });

/** The expected answer of a step. Without `http`, `code`, `issue` and `error` the call must succeed. */
export const CallExpectation = Closed({
  http: Type.Optional(
    Type.Union([Type.Integer({ minimum: 100, maximum: 599 }), Type.Literal('any')], {
      description:
        'the status of the answer; any: the step expects nothing, and is passed over where what it refers to was not made',
    }),
  ),
  code: Type.Optional(Type.String({ description: 'error.code of a refusal' })),
  issue: Type.Optional(Type.String({ description: 'the issue of one of error.details' })),
  retry_after_max_s: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 3_600, description: 'it has Retry-After, of 1 s to so many' }),
  ),
  status: Type.Optional(Type.String({ description: 'the field `status` of the answer' })),
  fields: Type.Optional(Fields('fields of the answer by their paths, e.g. `fee.asset` or `approvals.0.decision`')),
  same_as: Type.Optional(Name('the answer of this step, once more')),
  error: Type.Optional(
    OneOf(
      ['UNAVAILABLE', 'OVERLOADED', 'DEADLINE_EXCEEDED', 'INTERNAL', 'MALFORMED', 'any'] as const,
      'the call has no answer, or 503, 429, 504, 500, 400',
    ),
  ),
  at_least_ms: Type.Optional(Ms('the step takes this long, at least')),
  within_ms: Type.Optional(Ms('the step takes this long, at most; live runs are given 2 s more')),
});
export type CallExpectation = Static<typeof CallExpectation>;

const step = {
  step: Name('its name, unique in the scenario'),
  expect: Type.Optional(CallExpectation),
  insist: Type.Optional(
    Type.Boolean({ description: 'repeat, with the same idempotency key, while there is no answer. false by default' }),
  ),
  by: Type.Optional(Principal),
};
const key = Type.Optional(
  Name('the Idempotency-Key; steps with one key are the same request twice. Of each step another by default'),
);

/** The answer of a receiver to a delivery. */
export const ReceiverAnswerShape = Type.Union(
  [Type.Integer({ minimum: 200, maximum: 599 }), Type.Literal('never'), Type.Literal('reset')],
  { description: 'a status; never: no answer; reset: the connection is cut' },
);
export type ReceiverAnswerShape = Static<typeof ReceiverAnswerShape>;
const Answers = Type.Array(ReceiverAnswerShape, {
  minItems: 1,
  maxItems: 100,
  description: 'to the deliveries in turn; the last one from then on. [204] by default',
});

export const providers = ['self_hosted', 'sandbox', 'fireblocks', 'bitgo', 'copper'] as const;
export const networks = [
  'eip155:11155111',
  'bip122:000000000933ea01ad0ee984209779ba',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
] as const;

export const custodyStepSchemas = {
  api: Closed({
    ...step,
    api: OneOf(operationNames, 'the operation, as signmesh/client calls it: wallets.create'),
    params: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z]{1,40}$' }), Type.String({ minLength: 1, maxLength: 200 }), {
        description: 'parameters of the path, e.g. { id: $treasury.id }',
      }),
    ),
    query: Type.Optional(Fields('as the route takes it')),
    body: Type.Optional(Type.Unsafe<object>({ type: 'object', description: 'as the route takes it' })),
    unchecked: Type.Optional(
      Type.Literal(true, { description: 'query and body are wrong on purpose: the service is to say so' }),
    ),
    key,
    until: Type.Optional(Fields('repeat until fields of the answer are so')),
    patience_ms: Type.Optional(Ms('of `until`: after how long it fails; 60,000 by default')),
  }),
  make_wallet: Closed(
    {
      ...step,
      call: Type.Literal('make_wallet'),
      provider: Type.Optional(OneOf(providers, 'self_hosted by default')),
      network: Type.Optional(OneOf(networks, 'eip155:11155111 by default')),
      policy: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'the policy of the wallet' })),
      connection: Type.Optional(Name('the wallet whose provider connection it shares; one of its own by default')),
    },
    {
      description:
        'A wallet, named as the step: a provider connection (`connections.create`; of `sandbox` `connections.connect`), and `wallets.create`. It is funded as wallets of a sandbox are.',
    },
  ),
  transfer: Closed(
    {
      ...step,
      call: Type.Literal('transfer'),
      from: Name('the wallet'),
      to: Type.String({ minLength: 1, maxLength: 120, description: 'a wallet of the scenario, or an address' }),
      amount: Type.String({ minLength: 1, maxLength: 80, description: 'a decimal, e.g. `0.25`' }),
      asset: Type.Optional(Type.String({ minLength: 1, maxLength: 20, description: 'the network’s coin by default' })),
      policy: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'a policy besides the others' })),
      key,
      follow: Type.Optional(
        Type.Boolean({
          description: 'until it has ended or waits for approval: the answer is then the intent. true by default',
        }),
      ),
    },
    {
      description: 'A transaction intent, named as the step: `intents.create`, and then `intents.get` until it rests.',
    },
  ),
  vote: Closed(
    {
      ...step,
      call: Type.Literal('vote'),
      intent: Name('the step of the transfer'),
      decision: Type.Optional(OneOf(['approve', 'reject'] as const, 'approve by default')),
      reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'of a rejection' })),
      key,
      follow: Type.Optional(Type.Boolean({ description: 'as of transfer. true by default' })),
    },
    { description: '`intents.approve`, and then `intents.get` until the intent rests.' },
  ),
  register_webhook: Closed(
    {
      ...step,
      call: Type.Literal('register_webhook'),
      events: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 50, description: '["*"] by default' })),
      answers: Type.Optional(Answers),
    },
    { description: 'A webhook, named as the step, with a receiver of its own: `webhooks.create`.' },
  ),
  receiver: Closed(
    {
      step: step.step,
      receiver: Name('the step that registered the webhook'),
      answers: Answers,
    },
    { description: 'how a receiver answers from now on' },
  ),
} as const;

export type CustodyStepKind = keyof typeof custodyStepSchemas;
export type CustodyStepOf<K extends CustodyStepKind> = Static<(typeof custodyStepSchemas)[K]>;
export type CustodyStep = { [K in CustodyStepKind]: CustodyStepOf<K> }[CustodyStepKind];
/** Steps that call the API, and have an answer. */
export type CustodyCall = Exclude<CustodyStep, { receiver: unknown }>;

/** Waits for results of the wallet API. */
export const custodyWaits = {
  intent: Type.Optional(Name('until the intent of this step …')),
  status: Type.Optional(Type.String({ description: '… has this status' })),
  event: Type.Optional(Type.String({ description: 'until the tenant’s log has an event of this type' })),
  of: Type.Optional(Name('of `event` and `delivered`: about the resource that this step made')),
  webhook: Type.Optional(Name('of `delivered`: at the receiver of this webhook')),
} as const;

/** Expectations about wallets, intents, events and webhooks at the end. */
export const custodyExpectations = {
  intent: Type.Optional(Name('of the intent of this step:')),
  status: Type.Optional(Type.String({ description: 'its status' })),
  wallet: Type.Optional(Name('of the wallet of this step:')),
  balances: Type.Optional(
    Type.Record(
      Type.String({ pattern: '^[A-Z0-9]{2,20}$' }),
      Type.String({ pattern: '^[0-9]+([.][0-9]+)?$', description: 'a decimal, e.g. `0.25`' }),
      {
        description: 'its balances, by asset: decimals',
      },
    ),
  ),
  events: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      description: 'types of events that the log has in this order, others between them',
    }),
  ),
  of: Type.Optional(Name('of `events`: of the resource that this step made alone')),
  webhook: Type.Optional(Name('of `delivered`: at the receiver of this webhook')),
  tries: Type.Optional(Type.Integer({ minimum: 0, description: 'of `webhook`: requests that its receiver got' })),
} as const;

export function isCustodyStep(step: object): step is CustodyStep {
  if ('api' in step || 'receiver' in step) return true;
  return 'call' in step && Object.hasOwn(custodyStepSchemas, String(step.call));
}
