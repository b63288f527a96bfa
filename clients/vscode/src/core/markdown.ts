// Markdown as a tree of elements that cannot act: no HTML, no images, links to http and https alone.
import MarkdownIt from "markdown-it";

export interface Mark {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (Mark | string)[];
}

/** A block at the top, and the line that it begins in. */
export interface Block {
  readonly line: number;
  readonly mark: Mark;
}

const tags = new Set(
  "p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code hr table thead tbody tr th td em strong s br a".split(" "),
);

const markdown = new MarkdownIt({ html: false, linkify: true, typographer: false });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
markdown.validateLink = (href) => /^https?:\/\//i.test(href);
// An address is shown as it is written, so that none can look like another one
markdown.normalizeLinkText = (text) => text;

type Token = ReturnType<typeof markdown.parse>[number];

export function blocks(text: string): readonly Block[] {
  const all: Block[] = [];
  const tokens = markdown.parse(text, {});
  for (let at = 0; at < tokens.length; ) {
    const { mark, next } = element(tokens, at);
    const line = tokens[at]?.map?.[0] ?? 0;
    all.push(...[mark].filter((each): each is Mark => typeof each === "object").map((each) => ({ line, mark: each })));
    at = next;
  }
  return all;
}

/** Definitions of links may change what was read before them. */
export function definesLinks(text: string): boolean {
  return /^ {0,3}\[[^\]\n]+\]:/m.test(text);
}

/** The element that begins at `at`, and where what follows it begins. */
function element(tokens: readonly Token[], at: number): { mark: Mark | string; next: number } {
  const token = tokens[at] as Token;
  if (token.nesting !== 1) {
    return { mark: leaf(token), next: at + 1 };
  }
  const children: (Mark | string)[] = [];
  let next = at + 1;
  while (next < tokens.length && tokens[next]?.nesting !== -1) {
    const child = element(tokens, next);
    // In a list without blank lines its paragraphs are none
    const inner = tokens[next]?.hidden === true && typeof child.mark === "object" ? child.mark.children : [child.mark];
    children.push(...inner);
    next = child.next;
  }
  return { mark: mark(token.tag, attributes(token), children), next: next + 1 };
}

function leaf(token: Token): Mark | string {
  switch (token.type) {
    case "inline":
      return mark("", {}, inline(token.children ?? []));
    case "fence":
    case "code_block":
      return mark("pre", {}, [mark("code", {}, [token.content])]);
    case "code_inline":
      return mark("code", {}, [token.content]);
    case "softbreak":
      return "\n";
    case "hardbreak":
      return mark("br", {}, []);
    case "hr":
      return mark("hr", {}, []);
    case "image":
      return picture(token);
    default:
      return token.content;
  }
}

function inline(tokens: readonly Token[]): readonly (Mark | string)[] {
  const marks: (Mark | string)[] = [];
  for (let at = 0; at < tokens.length; ) {
    const { mark: each, next } = element(tokens, at);
    marks.push(each);
    at = next;
  }
  return marks;
}

/** Nothing is loaded: what would be a picture is a link to it. */
function picture(token: Token): Mark {
  const href = token.attrGet("src") ?? "";
  return mark("a", { href, title: href }, [`[image: ${token.content || href}]`]);
}

function attributes(token: Token): Readonly<Record<string, string>> {
  const href = token.tag === "a" ? token.attrGet("href") : null;
  const start = token.tag === "ol" ? token.attrGet("start") : null;
  const align = /^text-align:(left|center|right)$/.exec(token.attrGet("style") ?? "")?.[1];
  return {
    ...(href !== null && { href, title: href }),
    ...(start !== null && { start: String(start) }),
    ...(align !== undefined && { align }),
  };
}

/** Without a tag the children stand for themselves; so they do where the tag is not one of ours. */
function mark(tag: string, given: Readonly<Record<string, string>>, children: readonly (Mark | string)[]): Mark {
  const flat = children.flatMap((child) => (typeof child === "object" && child.tag === "" ? child.children : [child]));
  return { tag: tags.has(tag) ? tag : "", attributes: given, children: flat };
}
