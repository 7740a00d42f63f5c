/** The page of one operation: what it does, a form that sends it, and what it takes and answers. */
import {
  type ApiOperation,
  type DescribedAnswer,
  type DescribedApi,
  type Parameter,
  resolved,
  type Schema,
} from './document.ts';
import { described, html, type Markup, nothing } from './html.ts';
import { listsOfExamples, type OwnLists } from './own-lists.ts';
import { schemaView, typeInWords } from './schema.ts';

export function operationView(api: DescribedApi, operation: ApiOperation, lists: OwnLists): Markup {
  const { method, path, summary, description, operationId } = operation;
  const parameters = (operation.parameters ?? []).map((parameter) => resolved<Parameter>(api, parameter));
  const body = operation.requestBody?.content['application/json'];
  return html`<article>
<h1>${summary}</h1>
<p class="call"><span class="method ${method.toLowerCase()}">${method}</span> <code>${path}</code> <span class="quiet">${operationId}</span></p>
<p class="about">${described(description)}</p>
<form id="request" data-method="${method}" data-path="${path}" data-public="${operation.security?.length === 0 ? 'yes' : 'no'}">
${parameters.map((parameter) => parameterView(api, parameter, lists, path))}
${body === undefined ? nothing : bodyView(body.example, lists)}
<p class="act"><button type="submit" class="send">Send</button> <button type="button" id="stop" hidden>Stop</button> <span class="quiet">Ctrl + Enter sends</span></p>
</form>
<section aria-label="The same call for a shell"><h2>curl</h2><div class="copied"><pre id="curl" tabindex="0"></pre><button type="button" id="copy">Copy</button></div></section>
<section id="answer" aria-live="polite" hidden><h2>Answer</h2><p id="status"></p><details><summary>Headers</summary><pre id="headers"></pre></details><pre id="body" tabindex="0"></pre></section>
${body?.schema === undefined ? nothing : html`<section><h2>Body</h2>${schemaView(api, body.schema)}</section>`}
<section><h2>Answers</h2>${Object.entries(operation.responses).map(([status, answer]) => answerView(api, status, resolved<DescribedAnswer>(api, answer)))}</section>
</article>`;
}

function parameterView(api: DescribedApi, parameter: Parameter, lists: OwnLists, path: string): Markup {
  const { name, required = false, description, schema } = parameter;
  const id = `${parameter.in}-${name}`;
  const choices = schema.enum ?? (schema.type === 'boolean' ? [true, false] : undefined);
  const list = parameter.in === 'path' ? lists.ofParameter(path, name) : undefined;
  const meant = html`id="${id}" data-in="${parameter.in}" data-name="${name}"${required ? html` required` : nothing}`;
  const control =
    choices === undefined
      ? html`<input ${meant} autocomplete="off" spellcheck="false"${
          list === undefined ? nothing : html` list="${id}-known" data-list="${list}"`
        }>${list === undefined ? nothing : html`<datalist id="${id}-known"></datalist>`}`
      : html`<select ${meant}><option value=""></option>${choices.map((one) => html`<option>${String(one)}</option>`)}</select>`;
  return html`<div class="parameter"><label for="${id}"><code>${name}</code> <span class="quiet">${parameter.in}${required ? ', required' : ''}</span></label>
${control}<p class="meaning">${described(description)} <span class="type">${typeInWords(api, schema as Schema)}</span></p></div>`;
}

/** `data-lists`: where the ids that take the place of the example's placeholders are listed. */
function bodyView(example: unknown, lists: OwnLists): Markup {
  const text = example === undefined ? '{}' : JSON.stringify(example, null, 2);
  const rows = Math.min(24, Math.max(3, text.split('\n').length));
  return html`<div class="parameter"><label for="sent">body <span class="quiet">JSON</span></label>
<textarea id="sent" rows="${rows}" spellcheck="false" data-lists="${JSON.stringify(listsOfExamples(text, lists))}">${text}</textarea></div>`;
}

function answerView(api: DescribedApi, status: string, { description, content }: DescribedAnswer): Markup {
  const [type, shown] = Object.entries(content ?? {})[0] ?? [];
  const example = shown?.example === undefined ? nothing : html`<pre>${JSON.stringify(shown.example, null, 2)}</pre>`;
  const fields = shown?.schema === undefined ? nothing : schemaView(api, shown.schema);
  const kind = type === undefined || type === 'application/json' ? nothing : html` <span class="type">${type}</span>`;
  return html`<details class="answer s${status[0]}"><summary><strong>${status}</strong> ${described(description)}${kind}</summary>${fields}${example}</details>`;
}
