/** Lists of token files: three columns, and errors that name the line. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MillraceError } from '../../../core/basics/errors.js'
import { parseTokenList } from '../../tokens/list.js'

const listOf = (text: string, root?: string, name = '/data/lists/files.txt') =>
  parseTokenList(
    {
      name,
      *pieces() {
        yield Buffer.from(text)
      },
    },
    root,
  )

describe('what blendcorpus writes', () => {
  test('weights, prefixes relative to the list, corpora', () => {
    const text =
      '0.25 ../web/a_text_document web\n\n0.5 /abs/b_text_document web\r\n1e-3 wiki_document wiki\n'
    expect(() => listOf(text)).toThrow(
      'line 1: /data/web/a_text_document (and 1 more) leads out of /data/lists',
    )
    expect(listOf(text, '/')).toEqual([
      { line: 1, weight: 0.25, prefix: '/data/web/a_text_document', corpus: 'web', name: 'a_text_document' },
      { line: 3, weight: 0.5, prefix: '/abs/b_text_document', corpus: 'web', name: 'b_text_document' },
      { line: 4, weight: 0.001, prefix: '/data/lists/wiki_document', corpus: 'wiki', name: 'wiki_document' },
    ])
  })

  test('comments, tabs, blanks, a byte order mark, no newline at the end', () => {
    const text = '\ufeff# all of them\n  \t \n1\tweb/a\tweb   # twice\n #2 b web\n2 s3://bucket/b web'
    expect(() => listOf(text)).toThrow('"root": "s3://bucket" would do')
    expect(listOf(text, 's3://bucket').map(({ line, prefix }) => [line, prefix])).toEqual([
      [3, '/data/lists/web/a'],
      [5, 's3://bucket/b'],
    ])
  })

  test('files of one name in different folders are told apart by what the list has of them', () => {
    expect(listOf('1 x/a web\n1 y/a web\n1 y/b web\n1 z/a wiki').map(({ name }) => name)).toEqual([
      'x/a',
      'y/a',
      'b',
      'a',
    ])
  })
})

describe('mistakes', () => {
  test.each([
    ['1 a web\nx b web', /files\.txt, line 2: the weight "x" is no number from 0/],
    ['-1 b web', /line 1: the weight "-1"/],
    ['nan b web', /line 1: the weight "nan"/],
    ['Infinity b web', /line 1: the weight "Infinity"/],
    ['1e999 b web', /line 1: the weight "1e999"/],
    ['\n1', /line 2: expected "<weight> <prefix> <corpus>", found only "1"/],
    ['1 b', /line 1: .* add the name of the corpus/],
    ['1 b # web', /line 1: .* add the name of the corpus/],
    ['1 my file web', /line 1: .*found 4 columns: names can't have spaces/],
    ['1 a web\n2 b web\n3 ./a web', /line 3: ".\/a" of corpus "web" is in line 1 already/],
    ['# nothing\n\n', /names no file/],
    ['0 a web\n0 b web', /at least one weight must be above 0/],
  ])('%j', (text, message) => {
    expect(() => listOf(text)).toThrow(message)
  })

  test('any text is a list, or an error that says why', () => {
    const line = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .array(fc.constantFrom('1', '0.5', 'a', 'b/c', 'web', '#', '-2', '\t', ' ', '\r'), { maxLength: 6 })
        .map(words => words.join(' ')),
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), lines => {
        try {
          const files = listOf(lines.join('\n'))
          expect(files.length).toBeGreaterThan(0)
          for (const { weight, prefix, corpus, name } of files) {
            expect(weight).toBeGreaterThanOrEqual(0)
            expect([prefix, corpus, name].every(text => text.length > 0 && !/\n/.test(text))).toBe(true)
          }
          const keys = files.map(({ corpus, name }) => `${corpus} ${name}`)
          expect(new Set(keys).size).toBe(keys.length)
        } catch (error) {
          expect(error).toBeInstanceOf(MillraceError)
        }
      }),
    )
  })
})
