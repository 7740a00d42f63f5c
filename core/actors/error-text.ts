/** The printable text of an error: a message may hold a secret, so this removes everything that looks like key material. */

const errorCharsMax = 200;
/** Long unbroken runs of hex, base64 or digits: useless in a log, and possibly a secret. */
const opaqueRun = /[A-Za-z0-9+/=_-]{32,}/g;

export function safeErrorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
  return text.replace(opaqueRun, '…').slice(0, errorCharsMax);
}

/** The place of the throw, without the error's text. */
export function safeStack(error: unknown): string[] {
  if (!(error instanceof Error) || error.stack === undefined) return [];
  return error.stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim())
    .slice(0, 8);
}
