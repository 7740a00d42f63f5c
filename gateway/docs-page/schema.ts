/** A schema as a list of its fields: name, type, whether it is required, limits and meaning. Objects inside open by a click. */
import { describeSchema } from '../api/schema-text.ts';
import { type DescribedApi, resolved, type Schema } from './document.ts';
import { described, html, type Markup, nothing } from './html.ts';

/** Schemas may contain themselves. */
const depthMax = 6;

export function schemaView(api: DescribedApi, schema: Schema, depth = 0): Markup {
  const meant = resolved(api, schema) as Schema;
  if (depth > depthMax) return html`<p class="quiet">and so on</p>`;
  const choices = (meant.anyOf ?? meant.oneOf ?? []).filter(({ type }) => type !== 'null');
  if (choices.length === 1) return schemaView(api, choices[0]!, depth);
  if (choices.length > 1) return choicesView(api, choices, depth);
  if (meant.allOf !== undefined) return html`${meant.allOf.map((part) => schemaView(api, part, depth))}`;
  if (meant.items !== undefined) return schemaView(api, meant.items, depth);
  const { properties = {}, required = [] } = meant;
  const fields = Object.entries(properties).sort(([one], [other]) => rank(required, one) - rank(required, other));
  if (fields.length === 0) return nothing;
  return html`<dl class="fields">${fields.map(([name, field]) => fieldView(api, name, field, required, depth))}</dl>`;
}

/** e.g. "string of 1 to 100 characters", "list of Asset, or null". */
export function typeInWords(api: DescribedApi, schema: Schema): string {
  const meant = resolved(api, schema) as Schema;
  const named = meant.title ?? meant.type;
  if (meant.items !== undefined) return `list of ${typeInWords(api, meant.items)}`;
  const choices = meant.anyOf ?? meant.oneOf;
  if (choices !== undefined) {
    const words = [...new Set(choices.map((one) => typeInWords(api, one)))];
    return words.length > 4 ? `${named ?? 'one of several'}` : words.join(' or ');
  }
  if (meant.properties !== undefined || meant.type === 'object') return meant.title ?? 'object';
  // A description says what a pattern means.
  const { description, pattern, ...limits } = meant;
  const told = description === undefined && pattern !== undefined ? { ...limits, pattern } : limits;
  return describeSchema(told).replace(/^takes (an? )?/, '');
}

function rank(required: readonly string[], name: string): number {
  return required.includes(name) ? 0 : 1;
}

function fieldView(api: DescribedApi, name: string, field: Schema, required: readonly string[], depth: number): Markup {
  const meaning = field.description ?? (resolved(api, field) as Schema).description;
  const inner = schemaView(api, field, depth + 1);
  const must = required.includes(name) ? html` <span class="must">required</span>` : nothing;
  return html`<dt><code>${name}</code> <span class="type">${typeInWords(api, field)}</span>${must}</dt>
<dd>${described(meaning)}${inner === nothing ? nothing : html`<details><summary>Fields</summary>${inner}</details>`}</dd>`;
}

function choicesView(api: DescribedApi, choices: readonly Schema[], depth: number): Markup {
  const shown = choices.map((choice) => ({ choice, view: schemaView(api, choice, depth + 1) }));
  const structured = shown.filter(({ view }) => view !== nothing);
  return structured.length === 0
    ? nothing
    : html`${structured.map(
        ({ choice, view }) => html`<details><summary>${nameOf(api, choice)}</summary>${view}</details>`,
      )}`;
}

/** A choice is known by its title, or by the constant that tells it from the others. */
function nameOf(api: DescribedApi, choice: Schema): string {
  const meant = resolved(api, choice) as Schema;
  const constant = Object.entries(meant.properties ?? {}).find(([, field]) => field.const !== undefined);
  if (constant !== undefined) return `${constant[0]}: ${String(constant[1].const)}`;
  return typeInWords(api, meant);
}
