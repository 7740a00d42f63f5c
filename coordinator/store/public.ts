/** The exports of the session store: the layout of its keys, and records as they are stored. */
export { changeOf, endingOf, keyText, openingOf, readKey, readSession, writeArguments } from './layout.ts';
export { RecordMacs } from './record-macs.ts';
