// A program in Go with a gateway inside: host gateway.yaml DATA_FOLDER
package main

import (
	"fmt"
	"log"
	"os"
	"strings"
	"time"
)

func must(what string, err error) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("host gateway.yaml DATA_FOLDER")
	}
	delivered := make(chan Result, 16)
	gateway, err := Open(os.Args[1], os.Args[2], func(r Result) {
		if r.Kind == 1 {
			delivered <- r
		}
	})
	must("create", err)

	// What is wrong with the configuration, before anything runs.
	findings, err := gateway.Check("")
	must("check", err)
	for _, one := range findings {
		log.Printf("%s:%d:%d: %s: %s", one.File, one.Line, one.Column, one.Code, one.Message)
		if one.IsFault {
			os.Exit(1)
		}
	}
	must("start", gateway.Start())

	// The program's own event: on disk when this returns.
	events, err := gateway.Submit("shop", `{"type":"order.shipped","data":{"title":{"en":"Shipped","de":"Versandt"}},
		"recipients":[{"platform":"ios","token":"a","locale":"de"},{"platform":"ios","token":"b"}]}`)
	must("submit", err)
	if len(events) != 1 || events[0].Deliveries != 2 {
		log.Fatalf("submitted: %+v", events)
	}

	// A webhook that the program's own server has received.
	answer, err := gateway.Handle("POST", "/in/zendesk", `{"devices":[{"identifier":"c","type":"ios"}],
		"notification":{"title":"T","body":"B","ticket_id":"5"}}`)
	must("handle", err)
	if answer.Status != 200 {
		log.Fatalf("the webhook was answered %d", answer.Status)
	}
	for count := 0; count < 3; count++ {
		select {
		case <-delivered:
		case <-time.After(30 * time.Second):
			log.Fatalf("only %d of 3 were delivered", count)
		}
	}

	// What an operator would ask.
	trace, err := gateway.Admin("GET", "/trace", fmt.Sprintf("event=%d", events[0].Event), "")
	must("trace", err)
	if trace.Status != 200 || !strings.Contains(trace.Body, `"order.shipped"`) {
		log.Fatalf("trace: %d %s", trace.Status, trace.Body)
	}
	left := gateway.Drain(5000)
	gateway.Close()
	fmt.Printf("delivered 3, left %d\n", left)
}
