/**
 * The URLs of webhooks: the values of a query are often secrets of the receiver, so what is stored, and shown in events, names the
 * fields of a query alone. The whole URL is stored sealed.
 */
import { aboutUrl, type WebhookRecord } from './record.ts';

const hidden = '***';

interface Seals {
  seal(plain: string, about: string): string;
}

interface Opens {
  open(sealed: string, about: string): string;
}

/** The fields of a record that store this URL; `url` as the parser writes it. */
export function storedUrl(
  { seal }: { readonly seal: Seals },
  tenant: string,
  webhookId: string,
  url: string,
): Pick<WebhookRecord, 'url' | 'sealedUrl'> {
  if (!url.includes('?')) return { url };
  return { url: withoutQueryValues(url), sealedUrl: seal.seal(url, aboutUrl(tenant, webhookId)) };
}

/** The URL with the names of its query alone. */
export function withoutQueryValues(url: string): string {
  const query = url.indexOf('?');
  if (query < 0) return url;
  const names = url
    .slice(query + 1)
    .replace(/[^&]+/g, (part) => (part.includes('=') ? `${part.split('=')[0]}=${hidden}` : hidden));
  return `${url.slice(0, query)}?${names}`;
}

/** The URL that is called. Throws EnvelopeBroken. */
export function urlOf(
  { seal }: { readonly seal: Opens },
  tenant: string,
  { id, url, sealedUrl }: WebhookRecord,
): string {
  return sealedUrl === undefined ? url : seal.open(sealedUrl, aboutUrl(tenant, id));
}
