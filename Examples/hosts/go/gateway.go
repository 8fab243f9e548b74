package main

// #cgo pkg-config: signalbox
// #include "bridge.h"
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"
)

// Gateway is a gateway inside this program. Its methods may be called from any goroutine.
type Gateway struct {
	pointer *C.sbx_gateway
	results cgo.Handle
}

// Result is the result of one attempt at a delivery; Kind is SBX_RESULT_*.
type Result struct {
	Kind          uint32
	Event         uint64
	Route, Reason string
}

// Finding is a fault of a configuration, or a warning.
type Finding struct {
	IsFault             bool
	Line, Column        uint32
	File, Code, Message string
}

// Submitted says what became of an event; Kind is SBX_SUBMITTED_*.
type Submitted struct {
	Kind                        uint32
	Event, Original, Deliveries uint64
}

// Answer is the answer to a request.
type Answer struct {
	Status uint32
	Body   string
}

// Open makes a gateway, which Start starts. The function is called on threads of the gateway and must return soon.
func Open(config, data string, results func(Result)) (*Gateway, error) {
	g := &Gateway{results: cgo.NewHandle(results)}
	c, d, err := text(config), text(data), newError()
	defer free(c, d)
	defer C.free(unsafe.Pointer(err))
	return g, failure(C.bridge_create(c, d, C.uintptr_t(g.results), &g.pointer, err), err)
}

// Start waits until everything runs.
func (g *Gateway) Start() error {
	err := newError()
	defer C.free(unsafe.Pointer(err))
	return failure(C.sbx_gateway_start(g.pointer, err), err)
}

// Check says everything that is wrong with a configuration; empty text: the gateway's own.
func (g *Gateway) Check(yaml string) ([]Finding, error) {
	var found []Finding
	err := collect(&found, func(handle C.uintptr_t, err *C.sbx_error) C.sbx_status {
		y := text(yaml)
		defer free(y)
		return C.bridge_check(g.pointer, y, handle, err)
	})
	return found, err
}

// Submit returns when the events are on disk.
func (g *Gateway) Submit(source, json string) ([]Submitted, error) {
	var events []Submitted
	err := collect(&events, func(handle C.uintptr_t, err *C.sbx_error) C.sbx_status {
		s, j := text(source), text(json)
		defer free(s, j)
		return C.bridge_submit(g.pointer, s, j, handle, err)
	})
	return events, err
}

// Handle answers a request as the gateway's own listener would.
func (g *Gateway) Handle(method, path, body string) (Answer, error) {
	return g.request(0, method, path, "", body)
}

// Admin answers a request as the admin listener would.
func (g *Gateway) Admin(method, path, query, body string) (Answer, error) {
	return g.request(1, method, path, query, body)
}

func (g *Gateway) request(admin C.int, method, path, query, body string) (Answer, error) {
	var answer Answer
	err := collect(&answer, func(handle C.uintptr_t, err *C.sbx_error) C.sbx_status {
		m, p, q, b := text(method), text(path), text(query), text(body)
		defer free(m, p, q, b)
		return C.bridge_request(g.pointer, admin, m, p, q, b, handle, err)
	})
	return answer, err
}

// Drain takes nothing more, and returns how many deliveries stay on disk.
func (g *Gateway) Drain(ms uint32) uint64 {
	var left C.uint64_t
	C.sbx_gateway_drain(g.pointer, C.uint32_t(ms), &left)
	return uint64(left)
}

// Close stops the gateway; afterwards no callback comes.
func (g *Gateway) Close() {
	C.sbx_gateway_destroy(g.pointer)
	g.results.Delete()
}

// collect makes a call whose callback fills `into`.
func collect[T any](into *T, call func(C.uintptr_t, *C.sbx_error) C.sbx_status) error {
	handle, err := cgo.NewHandle(into), newError()
	defer handle.Delete()
	defer C.free(unsafe.Pointer(err))
	return failure(call(C.uintptr_t(handle), err), err)
}

func newError() *C.sbx_error {
	err := (*C.sbx_error)(C.calloc(1, C.sizeof_sbx_error))
	err.struct_size = C.sizeof_sbx_error
	return err
}

func failure(status C.sbx_status, err *C.sbx_error) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("status %d: %s", status, C.GoString(&err.message[0]))
}

func text(value string) *C.char { return C.CString(value) }

func free(texts ...*C.char) {
	for _, one := range texts {
		C.free(unsafe.Pointer(one))
	}
}

func copied(value C.sbx_str) string { return C.GoStringN(value.ptr, C.int(value.len)) }

//export goResult
func goResult(handle C.uintptr_t, r *C.sbx_delivery_result) {
	cgo.Handle(handle).Value().(func(Result))(
		Result{uint32(r.result), uint64(r.event_id), copied(r.route), copied(r.reason)})
}

//export goFinding
func goFinding(handle C.uintptr_t, f *C.sbx_finding) {
	all := cgo.Handle(handle).Value().(*[]Finding)
	*all = append(*all, Finding{f.severity == C.SBX_FINDING_FAULT, uint32(f.line), uint32(f.column),
		copied(f.file), copied(f.code), copied(f.message)})
}

//export goSubmitted
func goSubmitted(handle C.uintptr_t, s *C.sbx_submitted) {
	all := cgo.Handle(handle).Value().(*[]Submitted)
	*all = append(*all, Submitted{uint32(s.result), uint64(s.event_id), uint64(s.original_id), uint64(s.deliveries)})
}

//export goAnswer
func goAnswer(handle C.uintptr_t, a *C.sbx_answer) {
	*cgo.Handle(handle).Value().(*Answer) = Answer{uint32(a.http_status), copied(a.body)}
}
