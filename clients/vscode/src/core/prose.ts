// Escaping for what is read as prose: as everywhere, but for what emoji are made of.
import { escapeText } from "./escape";

/** A picture, its selectors, and what joins it with another one; after a picture these hide nothing. */
const emoji = /\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]*(?:\u200d\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]*)*/gu;

/** `escapeText`, with emoji left whole. Never for what somebody approves. */
export function escapeProse(text: string): string {
  let done = "";
  let from = 0;
  for (const match of text.matchAll(emoji)) {
    done += escapeText(text.slice(from, match.index)) + match[0];
    from = match.index + match[0].length;
  }
  return done + escapeText(text.slice(from));
}
