module example.org/host

go 1.19
