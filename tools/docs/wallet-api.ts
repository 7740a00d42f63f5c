/**
 * The generated parts of docs/wallet-api.md: routes, fields, states, test triggers, events, rules, errors, limits, each from the
 * registry or schema that the service itself uses.
 */

import { errorKinds } from '../../gateway/api/errors/kinds.ts';
import { metadataLimits } from '../../gateway/api/metadata.ts';
import { modules, plannedModules, previewOfTag } from '../../gateway/api/modules.ts';
import type { Route } from '../../gateway/api/route.ts';
import { isIdempotent } from '../../gateway/api/route-table.ts';
import { allScopes } from '../../gateway/api/scopes.ts';
import { rateLimitDefaults } from '../../gateway/limits/rate-limits.ts';
import { httpBodyBytesMax } from '../../proto/limits.ts';
import { subStatusTexts } from '../../proto/sub-statuses.ts';
import { connectionsMax } from '../../wallets/custody/connections/connect.ts';
import * as intentSchemas from '../../wallets/custody/intents/schemas.ts';
import { type IntentStatus, intentStatuses, intentTransitions, isFinal } from '../../wallets/custody/intents/states.ts';
import * as walletSchemas from '../../wallets/custody/wallets/schemas.ts';
import { feedLimits } from '../../wallets/delivery/events/live-feed.ts';
import { eventTypes } from '../../wallets/delivery/events/types.ts';
import { webhooksMax } from '../../wallets/delivery/webhooks/record.ts';
import { assets } from '../../wallets/networks/assets.ts';
import { networkOf, networks } from '../../wallets/networks/networks.ts';
import * as complianceSchemas from '../../wallets/policy/compliance/schemas.ts';
import { testLists } from '../../wallets/policy/compliance/test-lists.ts';
import { defaultRules } from '../../wallets/policy/policies/default-policy.ts';
import * as policySchemas from '../../wallets/policy/policies/schemas.ts';
import { builtInFactors } from '../../wallets/policy/risk/factors.ts';
import * as riskSchemas from '../../wallets/policy/risk/schemas.ts';
import { catalogLimits } from '../../wallets/policy/rules/catalog.ts';
import { ruleLimits, variables } from '../../wallets/policy/rules/cel.ts';
import { retainedVersionsMax } from '../../wallets/policy/rules/retained-versions.ts';
import type { CredentialField } from '../../wallets/providers/port/port.ts';
import { testAmounts, testCredentials } from '../../wallets/providers/port/test-triggers.ts';
import { issueTexts } from './issues.ts';
import { providerInfos, restRoutes } from './rest-routes.ts';
import { answerTable, itemsOf, requestTable } from './schemas.ts';
import { code, table, withSections } from './sections.ts';

/** The page as it must be, from the present page: hand-written parts stay. */
export function walletApiPage(page: string): string {
  const routes = restRoutes();
  return withSections(
    page,
    new Map([
      ['endpoints', endpointTables(routes)],
      ['scopes', scopesTable(routes)],
      ['modules', modulesTable()],
      ['providers', providersTable()],
      ['networks', networksTable()],
      ['fields of a wallet', answerTable(walletSchemas.Wallet)],
      ['fields of an asset', answerTable(walletSchemas.WalletAsset)],
      ['fields of a new wallet', requestTable(walletSchemas.CreateBody)],
      ['filters of wallets', requestTable(walletSchemas.WalletQuery)],
      ['fields of an intent', answerTable(intentSchemas.Intent)],
      ['fields of a new intent', requestTable(intentSchemas.CreateBody)],
      ['fields of a vote', requestTable(intentSchemas.ApproveBody)],
      ['states', statesTable()],
      ['sub statuses', subStatusTable()],
      ['diagram', stateDiagram()],
      ['default policy', defaultPolicyTable()],
      ['variables', variablesTable()],
      ['fields of a new policy', requestTable(policySchemas.PolicyBody)],
      ['fields of a policy rule', requestTable(itemsOf(policySchemas.PolicyBody, 'rules'))],
      ['fields of a risk rule', requestTable(riskSchemas.RiskRuleBody)],
      ['fields of a list', requestTable(complianceSchemas.ListBody)],
      ['risk factors', factorsTable()],
      ['test amounts', testAmountsTable()],
      ['test credentials', testCredentialsTable()],
      ['test addresses', testAddressesTable()],
      ['events', eventsTable()],
      ['errors', errorsTable()],
      ['issues', issuesTable()],
      ['limits', limitsTable()],
    ]),
  );
}

/** The signing API has its own page. */
function endpointTables(routes: readonly Route[]): string {
  const tags = [...new Set(routes.map(({ tag }) => tag))].filter((tag) => tag !== 'Signing');
  return tags
    .map((tag) => {
      const rows = routes
        .filter((route) => route.tag === tag)
        .map((route) => [
          code(`${route.method} ${route.path}`),
          route.summary,
          route.scope === undefined ? 'none' : route.scope === 'any' ? 'any token' : code(route.scope),
          Object.keys(route.responses).join(', '),
          isIdempotent(route) ? 'yes' : '',
        ]);
      return `**${tag}**\n\n${table(['Endpoint', 'What it does', 'Scope', 'Answers', 'Idempotency-Key'], rows)}`;
    })
    .join('\n\n');
}

function modulesTable(): string {
  const rows = modules.map(({ name, tag, description, maturity, hasScopes }) => {
    const preview = previewOfTag(tag);
    const scopes = hasScopes ? `\`${name}:read\`, \`${name}:write\`` : '';
    const sandbox = plannedModules.some((each) => each === name) ? 'by request' : 'open';
    return [
      code(name),
      tag,
      maturity,
      description,
      scopes,
      preview === undefined ? '' : code(`preview:${preview}`),
      sandbox,
    ];
  });
  return table(['Module', 'Tag', 'Maturity', 'What it is', 'Scopes', 'In production also', 'In a sandbox'], rows);
}

function scopesTable(routes: readonly Route[]): string {
  const rows = allScopes
    .map((scope) => ({ scope, allowed: routes.filter((route) => route.scope === scope) }))
    .filter(({ allowed }) => allowed.length > 0)
    .map(({ scope, allowed }) => [code(scope), allowed.map(({ operationId }) => code(operationId)).join(', ')]);
  return table(['Scope', 'Operations'], rows);
}

function providersTable(): string {
  const rows = providerInfos().map(
    ({ kind, displayName, environments, credentialFields, capabilities, takesAnyCredentials }) => [
      code(kind),
      displayName,
      environments.map(code).join(', '),
      takesAnyCredentials ? 'any' : credentialFields.map(credentialWords).join(', ') || 'none',
      capabilities.map(code).join(', '),
    ],
  );
  return table(['Kind', 'What it is', 'Environments', 'Credentials (required in bold)', 'Capabilities'], rows);
}

function credentialWords({ name, aliases = [], required }: CredentialField): string {
  const word = required ? `**${code(name)}**` : code(name);
  return aliases.length === 0 ? word : `${word} (or ${aliases.map(code).join(', ')})`;
}

function networksTable(): string {
  const rows = networks.map(({ id, name, curve }) => [
    code(id),
    name,
    curve,
    assets
      .filter(({ network }) => network === id)
      .map(({ symbol, decimals }) => `${code(symbol)} (${decimals} decimals)`)
      .join(', '),
  ]);
  return table(['Network', 'Name', 'Curve', 'Assets'], rows);
}

const statusMeanings: Readonly<Record<IntentStatus, string>> = {
  created: 'submitted; passed at once',
  screening: 'compliance, risk and policy evaluate it; passed at once',
  pending_approval: 'waits for votes until `expires_at`',
  approved: 'may be signed; needs no further call',
  signing: 'at the provider: from here on it can be neither cancelled nor expire',
  broadcasting: 'signed, being sent to the network',
  confirming: 'the network has it',
  completed: 'confirmed by the network; the balances have moved',
  denied: 'policy or compliance said no',
  rejected: 'an approver said no',
  expired: 'no decision or no signature came in time',
  cancelled: 'the caller took it back',
  failed: 'the provider or the network refused it for good; `provider_error` says why',
};

function statesTable(): string {
  const rows = intentStatuses.map((status) => [
    code(status),
    statusMeanings[status],
    [...(isFinal(status) ? ['final'] : []), ...intentTransitions[status].map(code)].join(', '),
  ]);
  return table(['Status', 'Meaning', 'Next'], rows);
}

function subStatusTable(): string {
  return table(
    ['`sub_status`', 'Meaning'],
    Object.entries(subStatusTexts).map(([word, meaning]) => [code(word), meaning]),
  );
}

function stateDiagram(): string {
  const arrows = intentStatuses.flatMap((from) => intentTransitions[from].map((to) => `    ${from} --> ${to}`));
  const ends = intentStatuses.filter(isFinal).map((status) => `    ${status} --> [*]`);
  return ['```mermaid', 'stateDiagram-v2', '    [*] --> created', ...arrows, ...ends, '```'].join('\n');
}

function defaultPolicyTable(): string {
  const rows = defaultRules.map(({ id, effect, when, approvals }) => [
    code(id),
    code(effect),
    code(when),
    approvals === null ? '' : `${approvals.quorum} within ${approvals.timeoutS / 3_600} h`,
  ]);
  return table(['Rule', 'Effect', 'When', 'Approvals'], rows);
}

function variablesTable(): string {
  const rows = variables.flatMap(({ name, scopes, fields }) =>
    fields.map((field) => [code(`${name}.${field.name}`), code(field.type), field.meaning, scopes.join(', ')]),
  );
  return table(['Variable', 'Type', 'Meaning', 'In rules of'], rows);
}

function factorsTable(): string {
  return table(
    ['Factor', 'Points', 'When'],
    builtInFactors.map(({ code: name, points, when }) => [code(name), String(points), when]),
  );
}

function testAmountsTable(): string {
  return table(
    ['Amount', 'What happens'],
    testAmounts.map(({ amount, effect }) => [code(amount), effect]),
  );
}

function testCredentialsTable(): string {
  return table(
    ['`api_key` contains', 'What happens'],
    testCredentials.map(({ contains, effect }) => [code(contains), effect]),
  );
}

function testAddressesTable(): string {
  const rows = testLists.flatMap(({ name, effect, addresses }) =>
    addresses.map(({ network, address }) => [code(address), networkOf(network).name, code(name), effect]),
  );
  return table(['Destination', 'Network', 'On the list', 'What happens'], rows);
}

function eventsTable(): string {
  return table(
    ['Type', 'When'],
    Object.entries(eventTypes).map(([type, when]) => [code(type), when]),
  );
}

const errorCodes = [
  ['invalidRequest', 'a missing or malformed parameter; `details` names each'],
  ['authenticationFailed', 'a missing, expired or invalid token: all alike'],
  ['insufficientScope', 'the token lacks the scope that `WWW-Authenticate` names, or has no vote'],
  ['notFound', 'it does not exist, is another tenant’s, or is not for this token: all alike'],
  ['conflict', 'the state, the version or the idempotency key does not allow it'],
  ['providerRejected', 'the provider refused; `details` has its own error'],
  ['rateLimited', 'too many requests in this window; `Retry-After`'],
  ['internalError', 'a bug of this service; the log knows more under the request id'],
  ['unavailable', 'the provider or the store does not answer; `Retry-After`'],
] as const;

function errorsTable(): string {
  const rows = errorCodes.map(([kind, when]) => {
    const { http, code: name } = errorKinds[kind];
    return [String(http), code(name), when];
  });
  return table(['HTTP', '`error.code`', 'When'], rows);
}

function issuesTable(): string {
  return table(
    ['`issue`', 'Meaning'],
    Object.entries(issueTexts).map(([issue, meaning]) => [code(issue), meaning]),
  );
}

function limitsTable(): string {
  const { windowS, reads, writes } = rateLimitDefaults;
  const { policies, lists, riskRules } = catalogLimits;
  const { entriesMax } = complianceSchemas;
  const { keysMax, depthMax, bytesMax } = metadataLimits;
  const { policyLimits } = policySchemas;
  return table(
    ['What', 'Limit'],
    [
      ['reads of a tenant', `${reads} in ${windowS} s`],
      ['writes of a tenant', `${writes} in ${windowS} s`],
      ['body', `${httpBodyBytesMax} bytes`],
      ['page of a list', '1 to 100; 50 by default'],
      ['name', '1 to 100 characters, not blank, without control and direction characters'],
      ['metadata', `any JSON object of ${keysMax} keys, ${depthMax} levels, ${bytesMax} bytes`],
      ['idempotency key', '1 to 255 visible ASCII characters, kept 24 h'],
      [
        'condition of a rule',
        `${ruleLimits.charsMax} characters, ${ruleLimits.nodesMax} nodes, ${ruleLimits.depthMax} levels, ${ruleLimits.costMax.policy} steps of evaluation (of a risk rule ${ruleLimits.costMax.risk})`,
      ],
      [
        'a policy',
        `${policyLimits.rulesMax} rules, ${ruleLimits.policyCharsMax} characters and ${ruleLimits.policyCostMax} steps in all; ${retainedVersionsMax} versions within 30 days`,
      ],
      [
        'approvals of a rule',
        `a quorum of ${policyLimits.quorumMax}, ${policyLimits.approversMax} approvers, ${policyLimits.timeoutMinS} s to ${policyLimits.timeoutMaxS / 86_400} days`,
      ],
      ['events', '30 days, or 1,000,000 a tenant'],
      ['event streams of a gateway', `${feedLimits.perTenantMax} of a tenant, ${feedLimits.perGatewayMax} in all`],
      ['provider connections of a tenant', `${connectionsMax} that are not disconnected`],
      ['webhooks of a tenant', String(webhooksMax)],
      ['policies, lists, risk rules of a tenant', `${policies}, ${lists}, ${riskRules}`],
      ['entries of a list', String(entriesMax)],
    ],
  );
}
