/**
 * The language of rules: CEL (https://cel.dev) over the variables below, by @marcbachmann/cel-js. docs/wallet-api.md
 * shows these tables.
 *
 * CEL's `int` has 64 bits, and wei do not fit: amounts are of a type of their own, `Units`, whose arithmetic and comparison
 * are exact at any size. Addresses are of a type `Address`, which compares canonical spellings, so that a rule written
 * with a checksummed address and a transaction written in lowercase still meet.
 */
import { Environment } from '@marcbachmann/cel-js';
import type { MetadataValue } from '../../../gateway/api/metadata.ts';
import { addressKey } from './address-key.ts';
import { AddressValue, addExactTypes, Units } from './exact-types.ts';
import { subjectUnitsMax } from './pattern.ts';

/** The objects that rules see; the classes name them in error messages. */
class Transaction {
  constructor(fields: object) {
    Object.assign(this, fields);
  }
}
class Risk extends Transaction {}
class Compliance extends Transaction {}
class History extends Transaction {}

/** Which variables a rule may use: `risk` does not exist yet while rules make the score. */
export type RuleScope = 'policy' | 'risk';

export interface VariableField {
  readonly name: string;
  readonly type: 'string' | 'int' | 'Units' | 'Address' | 'map<string, string>';
  readonly meaning: string;
}

export interface RuleVariable {
  readonly name: string;
  readonly scopes: readonly RuleScope[];
  readonly fields: readonly VariableField[];
}

const both: readonly RuleScope[] = ['policy', 'risk'];

/** Every variable of the language, apart from `now` (a timestamp). */
export const variables: readonly RuleVariable[] = [
  {
    name: 'tx',
    scopes: both,
    fields: [
      {
        name: 'kind',
        type: 'string',
        meaning:
          '"transfer"; of token operations "deploy", "mint" or "burn"; of replacements "speed_up" or "cancel"; of wallets and vaults "message"; of wallets "typed_data" and "contract_call", and for a permit and a call "transfer" too',
      },
      { name: 'asset', type: 'string', meaning: 'symbol, e.g. "ETH"' },
      { name: 'network', type: 'string', meaning: 'CAIP-2 id, e.g. "eip155:11155111"' },
      { name: 'provider', type: 'string', meaning: 'provider kind of the wallet' },
      { name: 'amount', type: 'Units', meaning: 'whole smallest units (wei, satoshi, lamports), exact at any size' },
      {
        name: 'amount_decimal',
        type: 'string',
        meaning: 'the amount in decimal, as the intent shows it: "1.5" for a request of "1.50"',
      },
      { name: 'available', type: 'Units', meaning: 'available balance of the asset before this transaction' },
      { name: 'to', type: 'Address', meaning: 'destination' },
      {
        name: 'message',
        type: 'string',
        meaning:
          'text that a wallet is to sign; empty for all else. A rule that reads one of more than 1,000 characters cannot be evaluated',
      },
      {
        name: 'typed_data',
        type: 'map<string, string>',
        meaning:
          'every value of typed data by its path, as `tx.typed_data["message.details.amount"]`, `["domain.name"]`, `["message.to[0]"]` or `["primaryType"]`; numbers in decimal, addresses and bytes in lower case; empty for all else',
      },
      {
        name: 'call',
        type: 'map<string, string>',
        meaning:
          'of a contract call: `tx.call["function"]`, `["selector"]`, `["contract"]` and each argument, as `["arguments.amount"]`; numbers in decimal smallest units, addresses in lower case; empty for all else',
      },
      { name: 'from', type: 'Address', meaning: 'address of the wallet' },
      { name: 'wallet_id', type: 'string', meaning: 'id of the wallet' },
      { name: 'wallet_name', type: 'string', meaning: 'name of the wallet' },
      {
        name: 'metadata',
        type: 'map<string, string>',
        meaning:
          'of the intent; test a key with `"key" in tx.metadata`. What is not text stands as its JSON text; a rule that reads a value of more than 1,000 characters cannot be evaluated',
      },
      { name: 'initiator', type: 'string', meaning: 'who asks: a token id' },
    ],
  },
  {
    name: 'compliance',
    scopes: both,
    fields: [
      { name: 'decision', type: 'string', meaning: '"clear", "review" or "blocked"' },
      { name: 'risk_score', type: 'int', meaning: '0 to 100' },
    ],
  },
  {
    name: 'risk',
    scopes: ['policy'],
    fields: [
      { name: 'score', type: 'int', meaning: '0 to 100' },
      { name: 'level', type: 'string', meaning: '"low", "medium", "high" or "critical"' },
      { name: 'action', type: 'string', meaning: '"allow", "review" or "deny"' },
    ],
  },
  {
    name: 'history',
    scopes: both,
    fields: [
      { name: 'intents_last_hour', type: 'int', meaning: 'intents of this wallet in the last hour' },
      { name: 'intents_last_day', type: 'int', meaning: 'intents of this wallet in the last 24 hours' },
      { name: 'intents_to_destination', type: 'int', meaning: 'earlier intents of this wallet to this address' },
    ],
  },
];

const classes = {
  tx: ['Transaction', Transaction],
  risk: ['Risk', Risk],
  compliance: ['Compliance', Compliance],
  history: ['History', History],
} as const;

/** Structural limits of one rule. */
export const ruleLimits = {
  charsMax: 2_000,
  nodesMax: 400,
  depthMax: 24,
  listElementsMax: 100,
  /** Steps that an evaluation can take at most, see ./cost.ts: of one rule, and of all rules of a policy together. */
  costMax: { policy: 2_000, risk: 800 },
  policyCostMax: 20_000,
  /** Characters of all conditions of a policy. */
  policyCharsMax: 50_000,
} as const;

export function makeEnvironment(scope: RuleScope): Environment {
  const environment = new Environment({
    limits: {
      maxAstNodes: ruleLimits.nodesMax,
      maxDepth: ruleLimits.depthMax,
      maxListElements: ruleLimits.listElementsMax,
      maxMapEntries: 0,
      maxCallArguments: 4,
    },
  });
  addExactTypes(environment);
  for (const { name, scopes, fields } of variables) {
    if (!scopes.includes(scope)) continue;
    const [typeName, ctor] = classes[name as keyof typeof classes];
    environment.registerType(typeName, { ctor, fields: Object.fromEntries(fields.map((f) => [f.name, f.type])) });
    environment.registerVariable(name, typeName);
  }
  return environment.registerVariable('now', 'google.protobuf.Timestamp');
}

/** A caller's value as rules see it; null, which no rule can read, where a pattern would work on it too long. */
function ruleText(value: unknown): string | null {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > subjectUnitsMax ? null : text;
}

/** The input of rules. Made once per transaction, and shared by all of its rules. */
export interface RuleInput {
  readonly tx: object;
  readonly compliance: object;
  readonly history: object;
  readonly now: Date;
  readonly risk?: object;
}

export interface RuleFacts {
  readonly tx: {
    readonly kind: string;
    readonly asset: string;
    readonly network: string;
    readonly provider: string;
    readonly amount: bigint;
    readonly amount_decimal: string;
    readonly available: bigint;
    readonly to: string;
    readonly message: string;
    /** By path. */
    readonly typed_data: ReadonlyMap<string, string>;
    readonly call: ReadonlyMap<string, string>;
    readonly from: string;
    readonly wallet_id: string;
    readonly wallet_name: string;
    readonly metadata: MetadataValue;
    readonly initiator: string;
    /** Of the asset; not a variable, `units()` needs it. */
    readonly decimals: number;
  };
  readonly compliance: { readonly decision: string; readonly risk_score: number };
  readonly risk?: { readonly score: number; readonly level: string; readonly action: string };
  readonly history: {
    readonly intents_last_hour: number;
    readonly intents_last_day: number;
    readonly intents_to_destination: number;
  };
  readonly nowMs: number;
}

export function makeRuleInput({ tx, compliance, risk, history, nowMs }: RuleFacts): RuleInput {
  return {
    tx: new Transaction({
      ...tx,
      amount: new Units(tx.amount),
      available: new Units(tx.available),
      to: new AddressValue(addressKey(tx.to)),
      from: new AddressValue(addressKey(tx.from)),
      message: ruleText(tx.message),
      typed_data: new Map([...tx.typed_data].map(([path, value]) => [path, ruleText(value)])),
      // A map, so that no key of a caller can reach an object's own properties.
      metadata: new Map(Object.entries(tx.metadata).map(([key, value]) => [key, ruleText(value)])),
    }),
    compliance: new Compliance({ decision: compliance.decision, risk_score: BigInt(compliance.risk_score) }),
    history: new History({
      intents_last_hour: BigInt(history.intents_last_hour),
      intents_last_day: BigInt(history.intents_last_day),
      intents_to_destination: BigInt(history.intents_to_destination),
    }),
    now: new Date(nowMs),
    ...(risk === undefined ? {} : { risk: new Risk({ ...risk, score: BigInt(risk.score) }) }),
  };
}
