/**
 * The modules of the contract and their maturity (spec, section 9), as the OpenAPI document shows them: each tag is a
 * module, and every operation carries the label of its tag.
 */
import type { JsonObject } from './parts.ts';

export type Maturity = 'LIVE' | 'PREVIEW' | 'PLANNED';

interface Module {
  readonly tag: string;
  readonly maturity: Maturity;
  readonly description: string;
  /** No operation is served yet. */
  readonly isAbsent?: boolean;
}

/** In the order of the document. */
const modules: readonly Module[] = [
  { tag: 'Provider connections', maturity: 'LIVE', description: 'Custody providers and the connections to them.' },
  { tag: 'Wallets', maturity: 'LIVE', description: 'Wallets of all providers, normalized.' },
  { tag: 'Transaction intents', maturity: 'LIVE', description: 'Transfers under policy, and their approvals.' },
  { tag: 'Events', maturity: 'LIVE', description: 'What happened, in order.' },
  { tag: 'Webhooks', maturity: 'LIVE', description: 'Events sent to URLs, signed.' },
  { tag: 'Signing', maturity: 'LIVE', description: 'Keys and threshold signatures, in mode M0: a mock.' },
  { tag: 'Service', maturity: 'LIVE', description: 'Health, and this document.' },
  { tag: 'Sandbox', maturity: 'LIVE', description: 'Faults, processes, time and snapshots of a sandbox.' },
  { tag: 'Compliance', maturity: 'PREVIEW', description: 'Screening against lists.' },
  { tag: 'Risk', maturity: 'PREVIEW', description: 'Scores from rules.' },
  { tag: 'Policy', maturity: 'PREVIEW', description: 'Versioned rules that decide on intents; signed receipts.' },
  { tag: 'Reconciliation', maturity: 'PREVIEW', description: 'Jobs that compare balances.', isAbsent: true },
  { tag: 'Key management', maturity: 'PLANNED', description: 'Vaults and their keys.', isAbsent: true },
  { tag: 'AI treasury', maturity: 'PLANNED', description: 'Strategies and rebalancing.', isAbsent: true },
  { tag: 'Token operations', maturity: 'PLANNED', description: 'Tokens, minted and redeemed.', isAbsent: true },
];

const meanings: Readonly<Record<Maturity, string>> = {
  LIVE: 'stable',
  PREVIEW: 'may change; in production it asks for a `preview:` scope',
  PLANNED: 'announced',
};

/** What the labels mean, for the document's description. */
export const maturityText =
  'Each tag and operation has a maturity label, `x-maturity`: ' +
  `${Object.entries(meanings)
    .map(([label, meaning]) => `${label} (${meaning})`)
    .join(', ')}.`;

/** Of a tag that is no module of the contract (there are such in tests alone): LIVE. */
export function maturityOf(tag: string): Maturity {
  return modules.find((each) => each.tag === tag)?.maturity ?? 'LIVE';
}

/** The document's tags: those in use, and the modules of the contract that are not served yet. */
export function documentTags(used: ReadonlySet<string>): readonly JsonObject[] {
  const others = [...used].filter((tag) => !modules.some((each) => each.tag === tag)).map((name) => ({ name }));
  const known = modules
    .filter(({ tag, isAbsent = false }) => isAbsent || used.has(tag))
    .map(({ tag, maturity, description, isAbsent = false }) => ({
      name: tag,
      description: `**${maturity}.** ${description}${isAbsent ? ' Not served yet.' : ''}`,
      'x-maturity': maturity,
    }));
  return [...known, ...others];
}
