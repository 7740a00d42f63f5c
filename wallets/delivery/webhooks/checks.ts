/** Checks of a webhook that a schema cannot express: its target address and its event types. */

import { invalidFields } from '../../../gateway/api/errors/invalid-fields.ts';
import type { FieldIssue } from '../../../gateway/api/errors/service-error.ts';
import type { ClusterEnvironment } from '../../../proto/roster.ts';
import { checkTarget } from '../egress/public.ts';
import { isEventFilter } from '../events/public.ts';

/**
 * The input with its URL as the parser reads it, which is the one that is called: what is shown hides no other host behind
 * white space or backslashes. Fields that are absent are not checked. Throws ServiceError with every fault.
 */
export function checkWebhook<T extends { readonly url?: string; readonly events?: readonly string[] }>(
  input: T,
  environment: ClusterEnvironment,
): T {
  const details = [
    ...(input.url === undefined ? [] : urlIssues(input.url, environment)),
    ...(input.events === undefined ? [] : eventIssues(input.events)),
  ];
  if (details.length > 0) throw invalidFields(details, 'the webhook');
  return input.url === undefined ? input : { ...input, url: new URL(input.url).href };
}

function urlIssues(url: string, environment: ClusterEnvironment): FieldIssue[] {
  const given = checkTarget(url, environment);
  // The parser makes some texts longer.
  const target = given instanceof URL ? checkTarget(given.href, environment) : given;
  return target instanceof URL ? [] : [{ field: 'url', issue: target.issue, message: target.message }];
}

function eventIssues(events: readonly string[]): FieldIssue[] {
  if (events.includes('*')) {
    const message = 'takes "*" alone, or a list of event types';
    return events.length === 1 ? [] : [{ field: 'events', issue: 'not_allowed_value', message }];
  }
  const message = 'takes an event type, a prefix such as "wallet.*", or "*" alone';
  return events.flatMap((event, index) =>
    isEventFilter(event) ? [] : [{ field: `events[${index}]`, issue: 'not_allowed_value', message }],
  );
}
