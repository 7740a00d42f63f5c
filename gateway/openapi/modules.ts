/**
 * The modules of the contract as the OpenAPI document shows them: each tag is a module, and every operation carries the
 * label of its tag.
 */
import { type Maturity, moduleOfTag, modules } from '../api/modules.ts';
import type { JsonObject } from './parts.ts';

const meanings: Readonly<Record<Maturity, string>> = {
  LIVE: 'stable',
  PREVIEW: 'may change; in production it asks for a `preview:` scope',
  PLANNED: 'may change or go; in production it asks for a `preview:` scope, in a sandbox access is by request',
};

/** The meaning of the labels, for the document's description. */
export const maturityText =
  'Each tag and operation has a maturity label, `x-maturity`: ' +
  `${Object.entries(meanings)
    .map(([label, meaning]) => `${label} (${meaning})`)
    .join(', ')}.`;

/** LIVE for a tag that is no module of the contract (only tests have such tags). */
export function maturityOf(tag: string): Maturity {
  return moduleOfTag(tag)?.maturity ?? 'LIVE';
}

/** The document's tags: those in use, and the announced modules that are not served yet. */
export function documentTags(used: ReadonlySet<string>): readonly JsonObject[] {
  const others = [...used].filter((tag) => moduleOfTag(tag) === undefined).map((name) => ({ name }));
  const known = modules
    .filter(({ tag, maturity }) => maturity !== 'LIVE' || used.has(tag))
    .map(({ tag, maturity, description }) => ({
      name: tag,
      description: `**${maturity}.** ${description}${used.has(tag) ? '' : ' Not served yet.'}`,
      'x-maturity': maturity,
    }));
  return [...known, ...others];
}
