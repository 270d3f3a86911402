/** Checks notes of another process before they are used: it may be another version, or mean no good. */
import type { BadNote, RingNote } from '../../../core/engine/ring/ring-note.js'
import { areNumbers, areTexts, isObject } from '../../log/check.js'

export function isRingNote(note: unknown): note is RingNote {
  return (
    areNumbers(note, ['ring', 'rank', 'world', 'capacity']) &&
    areTexts(note, ['feed', 'root']) &&
    areNumbers(note.memory, ['words', 'data']) &&
    isLayout(note.layout) &&
    (note.definition === null || isDefinition(note.definition))
  )
}

export function isBadNote(note: unknown): note is BadNote {
  return (
    areNumbers(note, ['ring', 'count']) &&
    areTexts(note, ['id', 'message']) &&
    (note.file === undefined || typeof note.file === 'string') &&
    (note.offset === undefined || areNumbers(note, ['offset']))
  )
}

const COLUMNS = ['rows', 'bytes', 'statusAt', 'positionAt', 'rowAt', 'sourceAt', 'dataAt']
const PLACES = ['unitBytes', 'at', 'bytes', 'lengthAt', 'placeAt', 'offsetsAt', 'stagingAt']

function isLayout(layout: unknown): boolean {
  return areNumbers(layout, COLUMNS) && Array.isArray(layout.fields) && layout.fields.every(isPlace)
}

function isPlace(field: unknown): boolean {
  return (
    areTexts(field, ['name', 'dtype']) &&
    areNumbers(field, PLACES) &&
    isShape(field.shape) &&
    (field.device === undefined || isDevice(field.device))
  )
}

function isDevice(device: unknown): boolean {
  return (
    areTexts(device, ['kind']) &&
    (device.dtype === undefined || typeof device.dtype === 'string') &&
    (device.shape === undefined || isShape(device.shape))
  )
}

function isShape(shape: unknown): boolean {
  return Array.isArray(shape) && shape.every(one => Number.isFinite(one))
}

function isDefinition(definition: unknown): boolean {
  if (!isObject(definition) || !isObject(definition.fields)) return false
  return Object.values(definition.fields).every(field => areTexts(field, ['as']))
}
