/** Conditions on columns, as `where` has them. */

/** A value, null where there is none, any of a list, or comparisons that all hold. */
export type ConditionJson =
  | Compared
  | Compared[]
  | Partial<Record<'>' | '>=' | '<' | '<=' | '=' | '!=', Compared>>
type Compared = number | string | boolean | null

/** Conditions over columns, all of which must hold: `{"width": {">=": 256}, "$any": [{"label": [1, 2]}, {"class": "cat"}]}`. */
export interface WhereJson {
  $any?: WhereJson[]
  $all?: WhereJson[]
  $not?: WhereJson
  [column: string]: ConditionJson | WhereJson | WhereJson[] | undefined
}
