// Breaks nested brackets into lines as IPython does when it shows the value of a cell.
//
// Text stays in a buffer for as long as its line may still be broken. Where a line grows too long,
// the outermost brackets that have a comma in the buffer break, at every comma. Text of several
// lines breaks the outermost brackets around it too.
//
// Source: IPython/lib/pretty.py, after D. C. Oppen, "Prettyprinting", ACM TOPLAS 2(4), 1980.

/** A piece of text, or brackets around items, each item being pieces one after the other. */
export type Node = string | Brackets;

/** Items between brackets, with commas between them. */
export interface Brackets {
  readonly open: string;
  readonly close: string;
  readonly items: readonly (readonly Node[])[];
}

const WIDTH = 79;

/** Of a longer list, only the beginning is shown. */
const LONGEST = 1000;

/** One line for everything. */
export function flat(node: Node): string {
  if (typeof node === "string") return node;
  const items = node.items.map((pieces) => pieces.map(flat).join(""));
  return node.open + items.join(", ") + node.close;
}

/** Lines of at most 79 columns, where brackets allow that. */
export function layOut(node: Node): string {
  const printer = new Printer();
  printer.print(node);
  return printer.finish();
}

/** Brackets with their items, or one value: a unit whose line breaks are all taken or none. */
interface Group {
  readonly depth: number;
  /** Its possible line breaks in the buffer. */
  waiting: number;
  breaks: boolean;
}

interface Piece {
  text: string;
  /** The group that this line break belongs to; undefined for text. */
  readonly group: Group | undefined;
  readonly indent: number;
}

class Printer {
  #output = "";
  #column = 0;
  #buffer: Piece[] = [];
  #bufferWidth = 0;
  #indent = 0;
  readonly #open: Group[] = [{ depth: 0, waiting: 0, breaks: false }];
  /** The groups that may still break, by depth. */
  readonly #queue: Group[][] = [[...this.#open]];

  finish(): string {
    this.#flush();
    return this.#output;
  }

  print(node: Node): void {
    this.#begin();
    if (typeof node === "string") {
      this.#begin();
      node.split("\n").forEach((line, i) => {
        if (i > 0) this.#newline();
        this.#text(line);
      });
      this.#end();
    } else {
      this.#text(node.open);
      this.#begin();
      this.#indent += 1;
      node.items.slice(0, LONGEST).forEach((pieces, i) => {
        if (i > 0) this.#comma();
        for (const piece of pieces) {
          if (piece === ": ") this.#text(piece);
          else this.print(piece);
        }
      });
      if (node.items.length > LONGEST) {
        this.#comma();
        this.#text("...");
      }
      // Of ",)", the comma belongs to the item.
      if (node.close.length > 1) this.#text(node.close.slice(0, -1));
      this.#indent -= 1;
      this.#end();
      this.#text(node.close.slice(-1));
    }
    this.#end();
  }

  #begin(): void {
    const group = { depth: this.#open.length, waiting: 0, breaks: false };
    this.#open.push(group);
    this.#queue[group.depth] ??= [];
    this.#queue[group.depth].push(group);
  }

  #end(): void {
    const group = this.#open.pop() as Group;
    if (group.waiting === 0) this.#forget(group);
  }

  #forget(group: Group): void {
    const groups = this.#queue[group.depth];
    const index = groups.indexOf(group);
    if (index >= 0) groups.splice(index, 1);
  }

  #text(text: string): void {
    if (this.#buffer.length === 0) {
      this.#output += text;
      this.#column += text.length;
      return;
    }
    this.#push({ text, group: undefined, indent: 0 });
  }

  #comma(): void {
    this.#text(",");
    const group = this.#open[this.#open.length - 1];
    if (group.breaks) {
      this.#flush();
      this.#startLine(this.#indent);
      return;
    }
    group.waiting++;
    this.#push({ text: " ", group, indent: this.#indent });
  }

  #push(piece: Piece): void {
    this.#buffer.push(piece);
    this.#bufferWidth += piece.text.length;
    while (this.#column + this.#bufferWidth > WIDTH) {
      const group = this.#outermost();
      if (group === undefined) return;
      this.#break(group);
    }
  }

  #newline(): void {
    const group = this.#outermost();
    if (group !== undefined) this.#break(group);
    this.#flush();
    this.#startLine(this.#indent);
  }

  /** The outermost group with a line break in the buffer; it and all groups around it break from now on. */
  #outermost(): Group | undefined {
    for (const groups of this.#queue) {
      const group = groups.filter(({ waiting }) => waiting > 0).pop();
      if (group !== undefined) {
        this.#forget(group);
        group.breaks = true;
        return group;
      }
      for (const other of groups) other.breaks = true;
      groups.length = 0;
    }
    return undefined;
  }

  #break(group: Group): void {
    while (group.waiting > 0) this.#emit();
    while (this.#buffer.length > 0 && this.#buffer[0].group === undefined) this.#emit();
  }

  #flush(): void {
    while (this.#buffer.length > 0) this.#emit();
  }

  /** Writes the first piece of the buffer. */
  #emit(): void {
    const { text, group, indent } = this.#buffer.shift() as Piece;
    this.#bufferWidth -= text.length;
    if (group !== undefined) {
      group.waiting--;
      if (group.breaks) {
        this.#startLine(indent);
        return;
      }
      if (group.waiting === 0) this.#forget(group);
    }
    this.#output += text;
    this.#column += text.length;
  }

  #startLine(indent: number): void {
    this.#output += `\n${" ".repeat(indent)}`;
    this.#column = indent;
  }
}
