/** The exports of the session store: the layout of its keys, and records as they are stored. */
export { changeOf, endingOf, keyText, openingOf, readKey, readSession, storeMacs, writeArguments } from './layout.ts';
