/** The webhook that a path names. */
import type { RequestContext } from '../../../gateway/api/route.ts';
import { noSuch, seesWholeTenant } from '../../../gateway/api/visibility.ts';
import { type WebhookRecord, webhookType } from './record.ts';

/** Webhooks belong to no connection: a token that is limited to connections sees none. Throws ServiceError. */
export async function findWebhook({ tenant, store, principal }: RequestContext, id: string): Promise<WebhookRecord> {
  // The store finds a record by its id alone: an id of another kind names no webhook.
  const isVisible = id.startsWith('whk_') && seesWholeTenant(principal);
  const found = isVisible ? await store.read(tenant, webhookType, id) : undefined;
  if (found === undefined) throw noSuch('webhook');
  return found;
}
