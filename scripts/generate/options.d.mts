type Rows = Readonly<Record<string, object>>
interface Part {
  from: string
  part: string
}

export function openOptions(options: Rows): Part
export function parameters(options: Rows): Part
export function parameterList(options: Rows): string
export function engineNames(options: Rows): Record<string, string>
export function optionTable(options: Rows, alone: boolean): Part
